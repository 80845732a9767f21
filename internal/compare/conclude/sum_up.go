package conclude

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"maps"
	"path/filepath"
	"slices"

	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// setTotals sets the totals of a report: counts, the first bad round (by step, then rank),
// coverage, warnings and the comparison with the baseline. It depends only on the rounds and
// the options. s has the sums over all rows.
func (o *Options) setTotals(rep *record.Report, s *sumTotals) {
	rep.OrderSource = record.TextOfAll(rep.Rounds, func(r *record.Round) lang.Sentence { return r.OrderSource })
	for i, rows := range roundRanges(rep) {
		rep.Rounds[i].Counts = map[record.Status]int{}
		for k := rows.first; k < rows.end; k++ {
			rep.Rounds[i].Counts[rep.Rows[k].Status]++
		}
	}
	rep.Count()
	rep.Effective = s.heldType.name()
	setCoverage(rep, s)
	setFindings(rep)
	rep.Meaning = newMeaning(rep, s)
	rep.Warnings = o.warnings(rep)
	if b := o.Baseline; b != nil && !rep.Interrupted {
		rep.Baseline = b.compare(rep, &o.Pair, o.Slack)
		rep.Baseline.File = filepath.ToSlash(o.BaselineFile)
		if rep.FailedFast {
			rep.Baseline.Missing = nil // unknown: the run did not reach the remaining rows
		}
	}
}

// setFindings sets the findings of the report to the findings of its headline round.
func setFindings(rep *record.Report) {
	rep.Findings, rep.Origins = record.NoFindings(), nil
	if rep.Interrupted || rep.Standard != "" {
		return
	}
	rep.GraphSource = record.TextOfAll(rep.Rounds, func(r *record.Round) lang.Sentence { return r.GraphSource })
	if i := rep.HeadlineRound(); i >= 0 {
		rep.Findings, rep.Origins = rep.Rounds[i].Findings, rep.Rounds[i].Origins
	}
}

// sumTotals has the totals over all rows.
type sumTotals struct {
	heldType heldType
	// requested and compared are hashes of the names of reference tensors: the tensors to compare, and the compared
	// tensors.
	requested, compared [][sha256.Size]byte
	// refOps and npuOps are the operators of each side, comparedOps the operators with a compared tensor.
	refOps, npuOps, comparedOps map[string]bool
	// judged counts judged rows; empty and nan count judged rows without numbers.
	judged, empty, nan int
	inputs             record.Inputs
	kinds              map[string]int // number by kind of evidence
	power              record.Power
	detected           [len(powers)]int
	deepest            int         // index of the row
	rounded            *record.Row // the first input that only one side holds in a coarser type, nil without one
}

func newSums(rows int) *sumTotals {
	names := func() map[string]bool { return make(map[string]bool, rows) }
	tensors := func() [][sha256.Size]byte { return make([][sha256.Size]byte, 0, rows) }
	return &sumTotals{requested: tensors(), compared: tensors(), refOps: names(), npuOps: names(), comparedOps: names(), kinds: map[string]int{}, deepest: -1}
}

// newSumsOf sums the rows of a report.
func newSumsOf(rep *record.Report) *sumTotals {
	s := newSums(rep.Len())
	for i, row := range rep.AllRows() {
		s.add(i, row)
	}
	return s
}

// add adds the row at index i of the report.
func (s *sumTotals) add(i int, row *record.Row) {
	s.heldType.add(row)
	s.addTensor(row)
	if row.IsJudged() {
		s.judged++
	}
	switch {
	case !row.IsJudged() || row.HasNumbers():
	case row.IsEmpty():
		s.empty++
	default:
		s.nan++
	}
	if e := row.Evidence; e != nil {
		s.addEvidence(row, e)
		s.addPower(i, e)
	}
}

// addTensor adds the tensors and the operator of a row.
func (s *sumTotals) addTensor(row *record.Row) {
	if row.RefFile != "" {
		name := sha256.Sum256([]byte(row.RefFile))
		if row.Status != record.Skip || finding.Has(row.Reasons, finding.NotStandard) {
			s.requested = append(s.requested, name)
		}
		if row.IsJudged() {
			s.compared = append(s.compared, name)
		}
	}
	if row.Pair.Status == record.Skip {
		return
	}
	if row.RefFile != "" {
		s.refOps[row.Op] = true
	}
	if row.NPUFile != "" {
		s.npuOps[row.Op] = true
	}
	if row.IsJudged() {
		s.comparedOps[row.Op] = true
	}
}

// merge adds the sums of another part of the rows.
func (s *sumTotals) merge(o *sumTotals) {
	s.heldType.merge(&o.heldType)
	s.requested, s.compared = append(s.requested, o.requested...), append(s.compared, o.compared...)
	maps.Copy(s.refOps, o.refOps)
	maps.Copy(s.npuOps, o.npuOps)
	maps.Copy(s.comparedOps, o.comparedOps)
	s.judged, s.empty, s.nan = s.judged+o.judged, s.empty+o.empty, s.nan+o.nan
	s.inputs.Equal, s.inputs.Rounding, s.inputs.Differ = s.inputs.Equal+o.inputs.Equal, s.inputs.Rounding+o.inputs.Rounding, s.inputs.Differ+o.inputs.Differ
	for kind, n := range o.kinds {
		s.kinds[kind] += n
	}
	s.power.Of, s.power.Judged, s.deepest = s.power.Of+o.power.Of, s.power.Judged+o.power.Judged, max(s.deepest, o.deepest)
	for i, n := range o.detected {
		s.detected[i] += n
	}
	s.rounded = cmp.Or(s.rounded, o.rounded)
}

// heldType is the common type of the values in float32 arrays of values in a coarser type. isKnown: there are such
// arrays; differs: their types differ.
type heldType struct {
	typeName         string
	isKnown, differs bool
}

func (h *heldType) add(row *record.Row) {
	n := row.Noise
	if n == nil || n.Grid == nil || n.MayHold(tensor.Float16) || n.MayHold(tensor.BFloat16) {
		return
	}
	h.merge(&heldType{typeName: row.Type, isKnown: true})
}

// merge adds the type of other rows.
func (h *heldType) merge(other *heldType) {
	if !other.isKnown {
		return
	}
	h.differs = h.differs || other.differs || h.isKnown && h.typeName != other.typeName
	h.typeName, h.isKnown = other.typeName, true
}

// name returns the common type of all rows, empty if they differ.
func (h *heldType) name() string {
	if h.differs {
		return ""
	}
	return h.typeName
}

// setCoverage sets the coverage. A tensor of the reference counts once, even if it was compared in several rounds;
// skipped tensors do not count.
func setCoverage(rep *record.Report, s *sumTotals) {
	c := &rep.Coverage
	*c = record.Coverage{Unused: c.Unused}
	wanted := s.requested
	for i := range rep.Rounds {
		for _, file := range rep.Rounds[i].Pairing.Candidates {
			wanted = append(wanted, sha256.Sum256([]byte(file)))
		}
		for _, file := range rep.Rounds[i].Pairing.Superseded {
			if !slices.Contains(c.Superseded, file) {
				c.Superseded = append(c.Superseded, file)
			}
		}
	}
	for _, row := range rep.AllRows() {
		if row.PairedBy != "" {
			if c.PairedBy == nil {
				c.PairedBy = make(map[string]int)
			}
			c.PairedBy[row.PairedBy]++
		}
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
	}
	c.Reference, c.Compared = countDistinct(wanted), countDistinct(s.compared)
	for _, r := range rep.Listed.Ref {
		if !r.Paired {
			c.Reference += r.Outputs
			c.Rounds = append(c.Rounds, lang.Say("%s of the reference: the NPU has no such round", roundName(&r)))
		}
	}
	for _, r := range rep.Listed.NPU {
		if !r.Paired {
			c.Rounds = append(c.Rounds, lang.Say("%s of the NPU: the reference has no such round", roundName(&r)))
		}
	}
}

// countDistinct returns the number of distinct sums.
func countDistinct(sums [][sha256.Size]byte) int {
	slices.SortFunc(sums, func(a, b [sha256.Size]byte) int { return bytes.Compare(a[:], b[:]) })
	return len(slices.Compact(sums))
}

// roundName names a round by its coordinates.
func roundName(r *record.ListedRound) lang.Text {
	return dumpdir.Coordinates{Rank: r.Rank, Step: r.Step, Graph: r.Graph, Model: r.Model, Folder: r.Folder}.Name()
}

// roundsShown is the maximum number of rounds in a message.
const roundsShown = 3

// warnOfUnpaired warns of the rounds of a side that have no partner.
func warnOfUnpaired(rounds []record.ListedRound, side lang.Text) []lang.Sentence {
	var texts []lang.Sentence
	n := 0
	for i := range rounds {
		if rounds[i].Paired {
			continue
		}
		if n++; n <= roundsShown {
			texts = append(texts, lang.Say("%s", roundName(&rounds[i])))
		}
	}
	if n == 0 {
		return nil
	}
	if more := n - len(texts); more > 0 {
		texts = append(texts, lang.Say("and %d more", more))
	}
	return []lang.Sentence{lang.Say("%d of %s of the %s have no partner: %s",
		n, lang.CountText(len(rounds), "round"), side, lang.Join(texts, lang.Text{EN: ", "}))}
}

// warnings returns the warnings about the whole run.
func (o *Options) warnings(rep *record.Report) []lang.Sentence {
	all := slices.Concat(rep.Listed.Stale, rep.Listed.Warnings, record.UnmatchedNames(rep.Rounds),
		warnOfUnpaired(rep.Listed.Ref, lang.Text{EN: "reference"}), warnOfUnpaired(rep.Listed.NPU, lang.Text{EN: "conclude¦NPU"}), record.RejectedSources(rep.Rounds))
	differing, first := 0, lang.Sentence{}
	for i := range rep.Rounds {
		if p := &rep.Rounds[i].Pairing; p.Differ > 0 {
			if differing == 0 {
				first = p.FirstDiffer
			}
			differing += p.Differ
		}
	}
	if differing > 0 {
		all = append(all, lang.Say("arguments other than tensors differ (%d): %s", differing, first))
	}
	all = append(all, o.warnOfUnusedTransposes(rep)...)
	all = append(all, fileWarnings(rep)...)
	if !rep.Interrupted {
		for _, row := range rep.AllRows() {
			if !row.Undiagnosed.IsZero() {
				all = append(all, row.Undiagnosed)
			}
		}
	}
	for i := range rep.Rounds {
		if rep.Rounds[i].Unfit {
			all = append(all, lang.Say("the graph (%s) does not fit the data and is not used: with its edges, too many operators would be origins of errors", rep.Rounds[i].GraphSource))
		}
	}
	return append(all, rep.Listed.OfOptions...)
}

// fileWarnings returns the warnings of the rows about their files.
func fileWarnings(rep *record.Report) []lang.Sentence {
	var all []lang.Sentence
	for _, row := range rep.AllRows() {
		all = append(all, row.Warnings...)
	}
	return tensorfile.FirstWarnings(all)
}

// warnOfUnusedTransposes warns of operators named in --transpose that no row has.
func (o *Options) warnOfUnusedTransposes(rep *record.Report) (warnings []lang.Sentence) {
	if rep.IsCutShort() || len(o.Shape.Transpose) == 0 {
		return nil
	}
	found := map[string]bool{}
	for _, row := range rep.AllRows() {
		found[row.Op] = true
	}
	for _, op := range slices.Sorted(maps.Keys(o.Shape.Transpose)) {
		if !found[op] {
			warnings = append(warnings, lang.Say("--transpose: no operator of the reference is called %s", op))
		}
	}
	return warnings
}

// hasPairs reports whether any row has both sides, compared or not.
func hasPairs(rep *record.Report) bool {
	return rep.HasRow(func(r *record.Row) bool { return r.IsCompared() || r.RefFile != "" && r.NPUFile != "" })
}
