package plan

import (
	"maps"
	"slices"

	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
)

// TextOfAll returns the common text of all rounds, or the text of the first round and the number
// of rounds with another text.
func TextOfAll(rounds []record.Round, text func(*record.Round) lang.Sentence) lang.Sentence {
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
		first = lang.Sayf("none", "无")
	}
	return lang.Sayf("%s; another one in %d of %d rounds", "%[1]s；%[3]d 个轮次中 %[2]d 个不同", first, others, len(rounds))
}

// Unmatched warns of requested operators that no round has.
func Unmatched(rounds []record.Round) (warnings []lang.Sentence) {
	counts := map[string]int{}
	for i := range rounds {
		for _, name := range rounds[i].Pairing.Unmatched {
			counts[name]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if counts[name] == len(rounds) {
			warnings = append(warnings, lang.Sayf("no operator matches %s", "没有算子匹配 %s", name))
		}
	}
	return warnings
}

// Rejected warns of existing orders and graphs that were not used.
func Rejected(rounds []record.Round) (warnings []lang.Sentence) {
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
			reason = lang.Sayf("%s (%d of %d rounds)", "%s (%[3]d 个轮次中的 %[2]d 个)", reason, n, len(rounds))
		}
		warnings = append(warnings, reason)
	}
	slices.SortFunc(warnings, func(a, b lang.Sentence) int { return lang.CompareNatural(a.String(), b.String()) })
	return warnings
}

// OrderSource returns the source of the execution order of sorted pairs.
func (p *Planner) OrderSource() lang.Sentence {
	return TextOfAll(records(p.rounds), func(r *record.Round) lang.Sentence { return r.OrderSource })
}

// AllWarnings returns the warnings of the listing, of names that match nothing, and of rejected
// orders.
func (p *Planner) AllWarnings() []lang.Sentence {
	rounds := records(p.rounds)
	return slices.Concat(p.Warnings, Unmatched(rounds), Rejected(rounds))
}
