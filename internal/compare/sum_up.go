package compare

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// sumUp makes what a report says as a whole of its rounds: counts, the round that went
// wrong first, that of the earliest step, then of the lowest rank, what was not compared,
// the warnings, and what the baseline says. It is a function of the rounds and the
// options, and reads no row of another run.
func (o *Options) sumUp(rep *record.Report) {
	rep.OrderSource = inAll(rep.Rounds, func(r *record.Round) lang.Sentence { return r.OrderSource })
	for i, rows := range roundRanges(rep) {
		rep.Rounds[i].Counts = map[record.Status]int{}
		for k := rows.first; k < rows.end; k++ {
			rep.Rounds[i].Counts[rep.Rows[k].Status]++
		}
	}
	rep.Count()
	rep.Effective = effective(rep)
	cover(rep)
	rep.Findings, rep.Origins = record.NoFindings(), nil
	if !rep.Interrupted && rep.Standard == "" {
		rep.GraphSource = inAll(rep.Rounds, func(r *record.Round) lang.Sentence { return r.GraphSource })
		if i := rep.HeadlineRound(); i >= 0 {
			rep.Findings, rep.Origins = rep.Rounds[i].Findings, rep.Rounds[i].Origins
		}
	}
	rep.Meaning = meaning(rep)
	rep.Warnings = o.warnings(rep)
	if b := o.Baseline; b != nil && !rep.Interrupted {
		rep.Baseline = b.apply(rep, &o.Pair, o.Slack)
		rep.Baseline.File = filepath.ToSlash(o.BaselineFile)
		if rep.FailedFast {
			rep.Baseline.Missing = nil // not known: the rest was not reached
		}
	}
}

// inAll is what a text of all rounds says: it, or that of the first round and how
// many have another one.
func inAll(rounds []record.Round, text func(*record.Round) lang.Sentence) lang.Sentence {
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

// effective is the type that all arrays of float32 of the NPU hold that say it, empty
// where they differ or hold float32.
func effective(rep *record.Report) string {
	held, any := "", false
	for _, row := range rep.All() {
		n := row.Noise
		if n == nil || n.Grid == nil || n.MayHold(tensor.Float16) || n.MayHold(tensor.BFloat16) {
			continue
		}
		if any && row.Type != held {
			return ""
		}
		held, any = row.Type, true
	}
	return held
}

// cover fills in what was compared and what was not. A tensor of the reference
// counts once, in however many rounds it was compared; one that is skipped does not.
func cover(rep *record.Report) {
	c := &rep.Coverage
	*c = record.Coverage{Unused: c.Unused}
	var compared, asked [][sha256.Size]byte // sums, since there may be many
	for i := range rep.Rounds {
		for _, file := range rep.Rounds[i].Pairing.Candidates {
			asked = append(asked, sha256.Sum256([]byte(file)))
		}
		for _, file := range rep.Rounds[i].Pairing.Superseded {
			if !slices.Contains(c.Superseded, file) {
				c.Superseded = append(c.Superseded, file)
			}
		}
	}
	for _, row := range rep.All() {
		switch row.Status {
		case record.UnmatchedRef:
			c.RefOnly = append(c.RefOnly, row.Name())
		case record.UnmatchedNPU:
			c.NPUOnly = append(c.NPUOnly, row.Name())
		case record.Error:
			c.Unread = append(c.Unread, row.Name())
		case record.Skip:
			c.Skipped = append(c.Skipped, row.Name())
		}
		if row.RefFile == "" {
			continue
		}
		if row.Status != record.Skip || record.Has(row.Reasons, record.NotStandard) {
			asked = append(asked, sha256.Sum256([]byte(row.RefFile)))
		}
		if row.Judged() {
			compared = append(compared, sha256.Sum256([]byte(row.RefFile)))
		}
	}
	c.Reference, c.Compared = different(asked), different(compared)
	for _, r := range rep.Listed.Ref {
		if !r.Paired {
			c.Reference += r.Outputs
			c.Rounds = append(c.Rounds, roundText(&r)+" of the reference: the NPU has no such round")
		}
	}
	for _, r := range rep.Listed.NPU {
		if !r.Paired {
			c.Rounds = append(c.Rounds, roundText(&r)+" of the NPU: the reference has no such round")
		}
	}
}

// different counts different sums.
func different(sums [][sha256.Size]byte) int {
	slices.SortFunc(sums, func(a, b [sha256.Size]byte) int { return bytes.Compare(a[:], b[:]) })
	return len(slices.Compact(sums))
}

// roundText names a round by all that is known of it.
func roundText(r *record.ListedRound) string {
	at := dumpdir.Coordinates{Rank: r.Rank, Step: r.Step, Graph: r.Graph, Model: r.Model, Folder: r.Folder}
	return cmp.Or(at.String(), "the round without coordinates")
}

// roundsShown is how many rounds a message names.
const roundsShown = 3

// alone warns of rounds of a side that have no partner.
func alone(rounds []record.ListedRound, side lang.Text) []lang.Sentence {
	var texts []string
	n := 0
	for i := range rounds {
		if rounds[i].Paired {
			continue
		}
		if n++; n <= roundsShown {
			texts = append(texts, roundText(&rounds[i]))
		}
	}
	if n == 0 {
		return nil
	}
	if more := n - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return []lang.Sentence{lang.Sayf("%d of %s of the %s have no partner: %s", "%[3]s有 %[1]d/%[2]s没有对应：%[4]s",
		n, lang.Text{EN: lang.Count(len(rounds), "round"), ZH: fmt.Sprintf("%d 个轮次", len(rounds))}, side, strings.Join(texts, ", "))}
}

// warnings are what there is to know of the whole run.
func (o *Options) warnings(rep *record.Report) []lang.Sentence {
	all := slices.Concat(rep.Listed.Warnings, unmatched(rep.Rounds),
		alone(rep.Listed.Ref, lang.Text{EN: "reference", ZH: "标杆"}), alone(rep.Listed.NPU, lang.Text{EN: "NPU", ZH: "NPU "}), rejected(rep.Rounds))
	if !anyPaired(rep) {
		if i := slices.IndexFunc(rep.Rounds, func(r record.Round) bool { return len(r.Pairing.Nothing) > 0 }); i >= 0 {
			all = append(all, rep.Rounds[i].Pairing.Nothing...)
		}
	}
	differ, first := 0, lang.Sentence{}
	for i := range rep.Rounds {
		if p := &rep.Rounds[i].Pairing; p.Differ > 0 {
			if differ == 0 {
				first = p.FirstDiffer
			}
			differ += p.Differ
		}
	}
	if differ > 0 {
		all = append(all, lang.Sayf("arguments that are no tensors differ (%d): %s", "非张量参数不同(%d 个)：%s", differ, first))
	}
	all = append(all, o.notTransposed(rep)...)
	if !rep.Interrupted {
		for _, row := range rep.All() {
			if !row.Undiagnosed.IsZero() {
				all = append(all, row.Undiagnosed)
			}
		}
	}
	for i := range rep.Rounds {
		if rep.Rounds[i].Unfit {
			all = append(all, lang.Sayf("by the graph (%s) too many operators would be origins: it does not fit the data and is not used for the verdict",
				"按该图(%s)会有过多算子成为起源：图与数据不符，不用于判定", rep.Rounds[i].GraphSource))
		}
	}
	return append(all, rep.Listed.OfOptions...)
}

// unmatched warns of operators that were asked for and that no round has.
func unmatched(rounds []record.Round) (warnings []lang.Sentence) {
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

// rejected warns of orders and graphs that are there and are not used.
func rejected(rounds []record.Round) (warnings []lang.Sentence) {
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

// notTransposed warns of operators of --transpose that no row has.
func (o *Options) notTransposed(rep *record.Report) (warnings []lang.Sentence) {
	if rep.Interrupted || rep.FailedFast || len(o.Shape.Transpose) == 0 {
		return nil
	}
	found := map[string]bool{}
	for _, row := range rep.All() {
		found[row.Op] = true
	}
	for _, op := range slices.Sorted(maps.Keys(o.Shape.Transpose)) {
		if !found[op] {
			warnings = append(warnings, lang.Sayf("--transpose: no operator of the reference is called %s", "--transpose：标杆中没有名为 %s 的算子", op))
		}
	}
	return warnings
}
