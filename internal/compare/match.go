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
	coverage   Coverage
	warnings   []string
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
		SkipKeys: m.opt.Pair.SkipKeys, Exclude: m.opt.Pair.Exclude, Ops: m.opt.Pair.Ops,
	}
	if !m.wantsInputs() {
		opt.Kind = pairing.Output
	}
	r := pairing.Match(m.refs, m.npus, opt)
	for _, p := range m.opt.Pair.Rounds.choose(r.Pairs, m.npus) {
		m.add(p.Ref, p.NPU, string(p.Rule), p.Round)
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
	for _, s := range r.Superseded {
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
	for i := range m.matches {
		if row := &m.matches[i].row; row.Status == Skip {
			m.coverage.Skipped = append(m.coverage.Skipped, row.Name())
		}
	}
	return nil
}

// shortenRounds leaves of the folders of rows only what tells them apart: the
// folders that all rows share are dropped.
func (m *matcher) shortenRounds() {
	var common []string
	for i := range m.matches {
		row := &m.matches[i].row
		if row.NPUFile == "" {
			continue
		}
		parts := strings.Split(row.Round, "/")
		if common == nil {
			common = parts
		}
		n := 0
		for n < min(len(common), len(parts)) && common[n] == parts[n] {
			n++
		}
		common = common[:n:n]
	}
	prefix := strings.Join(common, "/")
	for i := range m.matches {
		row := &m.matches[i].row
		if rest, ok := strings.CutPrefix(row.Round, prefix); ok && row.NPUFile != "" {
			row.Round = strings.TrimPrefix(rest, "/")
		}
	}
}

// tensors tells pairing what the items are called.
func tensors(items []item) []pairing.Tensor {
	all := make([]pairing.Tensor, len(items))
	for i := range items {
		it := &items[i]
		it.id = i
		name, _ := pairing.ParseName(it.name)
		t := name.Tensor()
		if it.dump || t.Kind == "" {
			t.Kind, t.Index = pairing.Kind(it.kind), it.index
		}
		if it.dump {
			t.Op = it.header
		}
		if t.Timestamp == 0 {
			t.Timestamp = it.timestamp
		}
		t.ID = i
		if it.folder != "." {
			t.Round = it.folder
		}
		all[i] = t
	}
	return all
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
	x := match{row: Row{Rule: rule, Round: round}}
	if npu >= 0 {
		x.npu = &m.npu.items[npu]
		t := &m.npus[npu]
		x.row.Op, x.row.OpType, x.row.Kind, x.row.Output = t.Name(), t.OpType, string(t.Kind), t.Index
		x.row.NPUFile, x.row.NPUPath = x.npu.String(), x.npu.path
	}
	if ref >= 0 {
		x.ref = &m.ref.items[ref]
		t := &m.refs[ref]
		if name := t.Name(); name != x.row.Op {
			x.row.NPUOp, x.row.Op = x.row.Op, name
		}
		if x.row.OpType == "" {
			x.row.OpType = t.OpType
		}
		x.row.Kind, x.row.Output = string(t.Kind), t.Index
		x.row.RefFile, x.row.RefPath = x.ref.String(), x.ref.path
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

// choose leaves the pairs of the wanted rounds.
func (r Rounds) choose(pairs []pairing.Pair, npus []pairing.Tensor) []pairing.Pair {
	if !r.First && !r.Last && r.Number == nil {
		return pairs
	}
	type tensorKey struct {
		op    string
		kind  pairing.Kind
		index int
	}
	keyOf := func(p pairing.Pair) tensorKey {
		t := &npus[p.NPU]
		return tensorKey{t.Name(), t.Kind, t.Index}
	}
	rounds := map[tensorKey][]string{}
	for _, p := range pairs {
		rounds[keyOf(p)] = append(rounds[keyOf(p)], p.Round)
	}
	for k := range rounds {
		slices.SortFunc(rounds[k], pairing.CompareNatural)
		rounds[k] = slices.Compact(rounds[k])
	}
	var kept []pairing.Pair
	for _, p := range pairs {
		all := rounds[keyOf(p)]
		want := 0
		switch {
		case r.Last:
			want = len(all) - 1
		case r.Number != nil:
			want = *r.Number
		}
		if want >= 0 && want < len(all) && p.Round == all[want] {
			kept = append(kept, p)
		}
	}
	return kept
}

// OrderError is an execution order that was asked for and does not exist.
type OrderError struct{ Err error }

// Error returns the text of the error behind it.
func (e *OrderError) Error() string { return e.Err.Error() }

// Unwrap returns the error behind it.
func (e *OrderError) Unwrap() error { return e.Err }

// order gives every match its place in the execution order, and sorts them.
func (m *matcher) order() (source string, err error) {
	// Two runs have two clocks: the NPU's counts if it has one.
	clock := slices.ContainsFunc(m.npus, func(t pairing.Tensor) bool { return t.Timestamp > 0 })
	items := make([]pairing.OrderItem, len(m.matches))
	for i := range m.matches {
		x := &m.matches[i]
		it := pairing.OrderItem{Names: []string{x.row.Op}}
		if x.row.NPUOp != "" {
			it.Names = append(it.Names, x.row.NPUOp)
		}
		switch {
		case clock && x.npu != nil:
			it.Timestamp = m.npus[x.npu.id].Timestamp
		case !clock && x.ref != nil:
			it.Timestamp = m.refs[x.ref.id].Timestamp
		}
		items[i] = it
	}
	o, err := m.opt.Order.Sources.Find(m.opt.Order.By, items)
	if err != nil {
		return "", &OrderError{err}
	}
	for i := range m.matches {
		m.matches[i].row.Order = o.Places[i]
	}
	slices.SortStableFunc(m.matches, func(a, b match) int { return compareRows(&a.row, &b.row) })
	return o.Source, nil
}

// compareRows orders rows: by place, then by name, kind, output and round.
func compareRows(a, b *Row) int {
	if a.Order != b.Order {
		return a.Order - b.Order
	}
	for _, c := range []int{
		pairing.CompareNatural(a.Op, b.Op), strings.Compare(a.Kind, b.Kind), a.Output - b.Output,
		pairing.CompareNatural(a.Round, b.Round), strings.Compare(a.NPUFile, b.NPUFile), strings.Compare(a.RefFile, b.RefFile),
	} {
		if c != 0 {
			return c
		}
	}
	return 0
}
