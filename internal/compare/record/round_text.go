package record

import (
	"maps"
	"slices"

	"dumptool/internal/lang"
)

// TextOfAll returns the text that all rounds share, else the text of the first round and the number of rounds with
// another text.
func TextOfAll(rounds []Round, text func(*Round) lang.Sentence) lang.Sentence {
	if len(rounds) == 0 {
		return lang.Sentence{}
	}
	first, others := text(&rounds[0]), 0
	for i := range rounds {
		if !text(&rounds[i]).Equal(first) {
			others++
		}
	}
	if others == 0 {
		return first
	}
	if first.IsZero() {
		first = lang.Say("none")
	}
	return lang.Say("%s in the first round; %d of %d rounds have another source or number", first, others, len(rounds))
}

// UnmatchedNames warns of requested operators that no round has.
func UnmatchedNames(rounds []Round) (warnings []lang.Sentence) {
	counts := map[string]int{}
	for i := range rounds {
		for _, name := range rounds[i].Pairing.Unmatched {
			counts[name]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if counts[name] == len(rounds) {
			warnings = append(warnings, lang.Say("no operator matches %s", name))
		}
	}
	return warnings
}

// RejectedSources warns of orders and graphs that exist but are not used.
func RejectedSources(rounds []Round) (warnings []lang.Sentence) {
	counts, reasons := map[string]int{}, map[string]lang.Sentence{}
	for i := range rounds {
		for _, reason := range rounds[i].Pairing.Rejected {
			text := reason.String()
			counts[text], reasons[text] = counts[text]+1, reason
		}
	}
	for text, n := range counts {
		reason := reasons[text]
		if n < len(rounds) {
			reason = lang.Say("%s (%d of %d rounds)", reason, n, len(rounds))
		}
		warnings = append(warnings, reason)
	}
	slices.SortFunc(warnings, func(a, b lang.Sentence) int { return lang.CompareNatural(a.String(), b.String()) })
	return warnings
}
