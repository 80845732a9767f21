package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"dumptool/internal/compare/pairing"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// match is a row before anything was read: who is compared with whom.
type match struct {
	row      Row
	ref, npu *item // nil on a side that is missing
	// format is the axis order of the reference where the compiler's graph
	// tells it.
	format *tensor.Format
	// execution counts the executions of the operator in one folder from 1,
	// where several are compared.
	execution int
}

// matcher pairs the items of both sides.
type matcher struct {
	opt      *Options
	ref, npu *side
	// refs and npus are what pairing knows of the items, under their indexes.
	refs, npus []pairing.Tensor
	matches    []match
	// candidates are the files of the reference behind ambiguous tensors.
	candidates []string
	// olderBy are the earlier executions of tensors in one folder, by the last
	// one, which is paired.
	olderBy map[supersededBy][]int
	// otherRounds names the pairs that Rounds leaves out.
	otherRounds []string
	coverage    Coverage
	warnings    []string
}

// olderOf returns the tensors of a side that a later one supersedes.
func (m *matcher) olderOf(id int, npu bool) []int {
	return m.olderBy[supersededBy{id, npu}]
}

// supersededBy is a tensor that supersedes others of its side.
type supersededBy struct {
	id  int
	npu bool
}

// NameError is a name map whose names do not exist.
type NameError struct{ Missing []string }

// Error lists the names.
func (e *NameError) Error() string { return "name map: " + strings.Join(e.Missing, "; ") }

// pair makes a match for every pair, and for every tensor without a partner.
func (m *matcher) pair() error {
	m.refs, m.npus = tensors(m.ref.items), tensors(m.npu.items)
	if m.opt.Pair.Map != nil {
		if missing := m.opt.Pair.Map.Missing(m.refs, m.npus); len(missing) > 0 {
			return &NameError{missing}
		}
	}
	if m.files() {
		return nil
	}
	opt := pairing.Options{
		Map: m.opt.Pair.Map, Fusion: m.opt.Pair.Fusion,
		SkipKeys: m.opt.Pair.SkipKeys, Exclude: m.opt.Pair.Exclude, Ops: m.opt.Pair.Ops, Shapes: m.shapes,
	}
	if !m.wantsInputs() {
		opt.Kind = pairing.Output
	}
	r := pairing.Match(m.refs, m.npus, opt)
	chosen, others := m.opt.Pair.Rounds.choose(r.Pairs, m.npus)
	for _, p := range chosen {
		m.add(p.Ref, p.NPU, string(p.Rule), p.Round)
	}
	for _, p := range others {
		row := m.row(p.Ref, p.NPU, string(p.Rule), p.Round)
		m.otherRounds = append(m.otherRounds, row.Name())
	}
	for _, a := range r.Ambiguous {
		m.ambiguous(&a)
	}
	for _, u := range r.UnmatchedRef {
		m.alone(u, false)
	}
	for _, u := range r.UnmatchedNPU {
		m.alone(u, true)
	}
	for _, s := range r.Skipped {
		x := m.add(s.Ref, s.NPU, "", s.Round)
		x.row.Status = Skip
		x.row.Reasons = []Reason{{Code(s.Code), High, fmt.Sprintf("matches %q", s.Key)}}
	}
	m.olderBy = map[supersededBy][]int{}
	for _, s := range r.Superseded {
		by := supersededBy{s.By, s.NPU}
		m.olderBy[by] = append(m.olderBy[by], s.ID)
		items := m.ref.items
		if s.NPU {
			items = m.npu.items
		}
		m.coverage.Superseded = append(m.coverage.Superseded, items[s.ID].String())
	}
	for _, name := range r.Unused {
		m.warnings = append(m.warnings, "no operator matches "+name)
	}
	m.shortenRounds()
	m.distinguish()
	for i := range m.matches {
		if row := &m.matches[i].row; row.Status == Skip {
			m.coverage.Skipped = append(m.coverage.Skipped, row.Name())
		}
	}
	return nil
}

// files pairs two single files, whatever their names are; false if the sides
// are something else.
func (m *matcher) files() bool {
	if !m.ref.alone || !m.npu.alone || m.opt.Pair.Map != nil {
		return false
	}
	inputs := m.wantsInputs()
	refs, npus := map[int]bool{}, map[int]bool{}
	pair := func(ref, npu int) {
		m.add(ref, npu, "files", "")
		refs[ref], npus[npu] = true, true
	}
	// The kind and the index tell, of an array those in its name.
	for r := range m.refs {
		for n := range m.npus {
			same := m.refs[r].Kind == m.npus[n].Kind && m.refs[r].Index == m.npus[n].Index
			if same && !refs[r] && !npus[n] && (inputs || m.refs[r].Kind == pairing.Output) {
				pair(r, n)
			}
		}
	}
	if ref, npu := outputs(m.ref.items), outputs(m.npu.items); len(m.matches) == 0 && len(ref) == 1 && len(npu) == 1 {
		pair(ref[0], npu[0])
	}
	if len(m.matches) == 0 {
		return false
	}
	for r := range m.refs {
		if !refs[r] && (inputs || m.refs[r].Kind == pairing.Output) {
			m.alone(pairing.Unmatched{ID: r}, false)
		}
	}
	for n := range m.npus {
		if !npus[n] && (inputs || m.npus[n].Kind == pairing.Output) {
			m.alone(pairing.Unmatched{ID: n}, true)
		}
	}
	m.shortenRounds()
	m.distinguish()
	return true
}

// wantsInputs reports whether inputs are compared.
func (m *matcher) wantsInputs() bool {
	return m.opt.Pair.Inputs || slices.ContainsFunc(m.refs, func(t pairing.Tensor) bool { return t.Kind == pairing.Input })
}

// outputs are the indexes of the outputs, or of all items if there are none.
func outputs(items []item) []int {
	var all, out []int
	for i := range items {
		all = append(all, i)
		if items[i].kind == tensorfile.Output {
			out = append(out, i)
		}
	}
	if len(out) == 0 {
		return all
	}
	return out
}

// add adds a match; -1 stands for a side that is missing.
func (m *matcher) add(ref, npu int, rule, round string) *match {
	x := match{row: m.row(ref, npu, rule, round)}
	if npu >= 0 {
		x.npu = &m.npu.items[npu]
	}
	if ref >= 0 {
		x.ref = &m.ref.items[ref]
	}
	if ref >= 0 && npu >= 0 && m.opt.Pair.Fusion != nil && rule == string(pairing.RuleFusion) {
		t := &m.npus[npu]
		if o, ok := m.opt.Pair.Fusion.Origin(t.Index, t.Op, t.FileOp); ok && t.Kind == pairing.Output {
			if f, ok := tensor.ParseFormat(o.Format); ok {
				x.format = &f
			}
		}
	}
	m.matches = append(m.matches, x)
	return &m.matches[len(m.matches)-1]
}

// row is the row of a match.
func (m *matcher) row(ref, npu int, rule, round string) Row {
	row := Row{Rule: rule, Round: round}
	if npu >= 0 {
		it, t := &m.npu.items[npu], &m.npus[npu]
		row.Op, row.OpType, row.Kind, row.Output = t.Name(), t.OpType, string(t.Kind), t.Index
		row.NPUFile, row.NPUPath = it.String(), it.path
		noteHeader(&row, t, "NPU")
	}
	if ref >= 0 {
		it, t := &m.ref.items[ref], &m.refs[ref]
		if name := t.Name(); name != row.Op {
			row.NPUOp, row.Op = row.Op, name
		}
		if row.OpType == "" {
			row.OpType = t.OpType
		}
		row.Kind, row.Output = string(t.Kind), t.Index
		row.RefFile, row.RefPath = it.String(), it.path
		noteHeader(&row, t, "reference")
	}
	return row
}

// noteHeader notes a header that names another operator than its file.
func noteHeader(row *Row, t *pairing.Tensor, side string) {
	if t.Op != "" && t.Op != t.Name() {
		row.Notes = append(row.Notes, fmt.Sprintf("the header of the %s's file names %q", side, t.Op))
	}
}

// ambiguous adds a row for each tensor that has several partners.
func (m *matcher) ambiguous(a *pairing.Ambiguity) {
	describe := func(ids []int, items []item) string {
		var names []string
		for _, id := range ids {
			names = append(names, items[id].String())
		}
		return strings.Join(names, ", ")
	}
	if len(a.Refs) == 1 {
		x := m.add(a.Refs[0], -1, string(a.Rule), a.Round)
		x.row.Status = Ambiguous
		x.row.Reasons = []Reason{{UnknownCode, High, fmt.Sprintf("%d NPU tensors by rule %s: %s", len(a.NPUs), a.Rule, describe(a.NPUs, m.npu.items))}}
		return
	}
	for _, ref := range a.Refs {
		m.candidates = append(m.candidates, m.ref.items[ref].String())
	}
	for _, npu := range a.NPUs {
		x := m.add(-1, npu, string(a.Rule), a.Round)
		x.row.Status = Ambiguous
		x.row.Reasons = []Reason{{UnknownCode, High, fmt.Sprintf("%d reference tensors by rule %s: %s", len(a.Refs), a.Rule, describe(a.Refs, m.ref.items))}}
	}
}

// alone adds a row for a tensor without a partner.
func (m *matcher) alone(u pairing.Unmatched, npu bool) {
	var x *match
	if npu {
		x = m.add(-1, u.ID, "", m.npus[u.ID].Round)
		x.row.Status = UnmatchedNPU
		x.row.Reasons = []Reason{{NotInModel, High, "the reference has no such tensor"}}
	} else {
		x = m.add(u.ID, -1, "", m.refs[u.ID].Round)
		x.row.Status = UnmatchedRef
	}
	for _, it := range []*item{x.ref, x.npu} {
		if it != nil && it.err != nil {
			x.row.Status, x.row.Err = Error, errors.New(withPath(it.path, it.err))
			x.row.Reasons = []Reason{{errorCode(it.err), High, x.row.Err.Error()}}
		}
	}
	if u.Why != "" {
		x.row.Notes = append(x.row.Notes, u.Why)
	}
}
