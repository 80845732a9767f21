package plan

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/pair"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

// pairTensors adds a pair for every two tensors that belong together, and for every
// tensor without a partner.
func (p *Planner) pairTensors() {
	p.addUnread()
	if !p.pairFiles() {
		p.matchRounds()
	}
	p.makeNamesUnique()
}

// matchRounds pairs the tensors inside each pair of rounds.
func (p *Planner) matchRounds() {
	refs, npus := p.ref.tensorsByRound(), p.npu.tensorsByRound()
	for _, round := range p.rounds {
		whole, npu, sharded := refs[round.pair.Ref], npus[round.pair.NPU], round.sharded
		opt := p.matchOptions(whole)
		p.nameCalls(round, whole, npu, &opt)
		p.nameRecorded(whole, npu, &opt)
		if sharded != nil {
			opt.Given = sharded.pairs(npu)
		}
		if sharded != nil && len(sharded.refs) > 1 {
			whole = nil
			for _, r := range sharded.refs {
				whole = append(whole, refs[r]...)
			}
		}
		r, from := pair.Match(whole, npu, opt), len(p.Pairs)
		if sharded != nil {
			r.UnmatchedRef = sharded.missingTensors(p.ref, round, r.UnmatchedRef)
		}
		p.addMatches(round, r)
		if sharded != nil {
			p.setParts(round, from)
		}
		round.Pairing.Unmatched = r.Unused
	}
}

// matchOptions returns the options for pairing the tensors of a round; refs are its tensors of the reference.
func (p *Planner) matchOptions(refs []pair.Tensor) pair.Options {
	opt := pair.Options{
		Map: p.options.SideFiles.NameMap, Fusion: p.options.SideFiles.Fusion,
		SkipKeys: p.options.Pair.SkipKeys, Exclude: p.options.Pair.Exclude, Ops: p.options.Pair.Ops, Shapes: p.shapes,
		NamesOnly: p.options.Pair.NamesOnly,
	}
	if !p.options.Pair.Inputs && !hasInputs(refs) {
		opt.Kind = tensor.Output
	}
	return opt
}

// addMatches adds the results of pairing two rounds.
func (p *Planner) addMatches(round *Round, r *pair.Result) {
	p.Pairs = slices.Grow(p.Pairs, len(r.Pairs))
	for _, c := range r.Pairs {
		x := p.addPair(round, c.Ref, c.NPU, string(c.Rule))
		if parts := r.Fused[c.NPU]; parts != nil {
			x.Row.Notes = append(x.Row.Notes, lang.Say("judging by its name, the NPU's operator computes %s", strings.Join(parts, ", ")))
		}
	}
	for _, a := range r.Ambiguous {
		p.addAmbiguous(round, &a)
	}
	for _, u := range r.UnmatchedRef {
		p.addUnpaired(round, u, false)
	}
	for _, u := range r.UnmatchedNPU {
		p.addUnpaired(round, u, true)
	}
	for _, s := range r.Skipped {
		x := p.addPair(round, s.Ref, s.NPU, "")
		x.Row.Pair.Set(record.Skip, finding.Code(s.Code), lang.Say("matches %q", s.Key))
	}
	for _, s := range r.Superseded {
		if by := (laterExecution{s.By, s.NPU}); !slices.Contains(p.olderBy[by], s.ID) { // another pair of rounds may have added it
			p.olderBy[by] = append(p.olderBy[by], s.ID)
		}
		items := p.ref.Tensors
		if s.NPU {
			items = p.npu.Tensors
		}
		round.Pairing.Superseded = append(round.Pairing.Superseded, items[s.ID].String())
	}
}

// tensorsByRound returns the tensors of each round.
func (s *Side) tensorsByRound() map[*dumpdir.Round][]pair.Tensor {
	rounds := make(map[*dumpdir.Round][]pair.Tensor, len(s.rounds))
	first := 0
	for i := range s.pairingNames {
		if i+1 == len(s.pairingNames) || s.round[i+1] != s.round[i] {
			rounds[s.round[i]] = s.pairingNames[first : i+1]
			first = i + 1
		}
	}
	return rounds
}

// pairFiles pairs two single files regardless of their names. It returns false if a side is not a
// single file.
func (p *Planner) pairFiles() bool {
	if !p.ref.Alone || !p.npu.Alone || p.options.SideFiles.NameMap != nil || len(p.rounds) != 1 {
		return false
	}
	if (p.ref.isNamed() || p.npu.isNamed()) && len(p.ref.Tensors)*len(p.npu.Tensors) != 1 {
		return false // names decide, unless each file has one tensor
	}
	inputs, round, rnamed, nnamed := p.options.Pair.Inputs || hasInputs(p.ref.pairingNames), p.rounds[0], p.ref.pairingNames, p.npu.pairingNames
	refs, npus := map[int]bool{}, map[int]bool{}
	match := func(ref, npu int) {
		p.addPair(round, ref, npu, "files")
		refs[ref], npus[npu] = true, true
	}
	// Match by kind and index, which the names of arrays contain.
	for r := range rnamed {
		for n := range nnamed {
			same := rnamed[r].Kind == nnamed[n].Kind && rnamed[r].Index == nnamed[n].Index
			if same && !refs[r] && !npus[n] && (inputs || rnamed[r].Kind == tensor.Output) {
				match(r, n)
			}
		}
	}
	if ref, npu := outputIndexes(p.ref.Tensors), outputIndexes(p.npu.Tensors); len(refs) == 0 && len(ref) == 1 && len(npu) == 1 {
		match(ref[0], npu[0])
	}
	if len(refs) == 0 && (p.ref.isSingle || p.npu.isSingle) && len(rnamed) == 1 && len(nnamed) == 1 {
		match(0, 0)
	}
	if len(refs) == 0 {
		return false
	}
	for r := range rnamed {
		if !refs[r] && (inputs || rnamed[r].Kind == tensor.Output) {
			p.addUnpaired(round, pair.UnmatchedTensor{ID: r}, false)
		}
	}
	for n := range nnamed {
		if !npus[n] && (inputs || nnamed[n].Kind == tensor.Output) {
			p.addUnpaired(round, pair.UnmatchedTensor{ID: n}, true)
		}
	}
	return true
}

// hasInputs reports whether the reference has inputs; then inputs are compared.
func hasInputs(refs []pair.Tensor) bool {
	return slices.ContainsFunc(refs, func(t pair.Tensor) bool { return t.Kind == tensor.Input })
}

// outputIndexes returns the indexes of the outputs, or of all tensors if there are no outputs.
func outputIndexes(items []*Tensor) []int {
	hasOutputs := slices.ContainsFunc(items, func(t *Tensor) bool { return t.Kind == tensor.Output })
	var out []int
	for i, t := range items {
		if !hasOutputs || t.Kind == tensor.Output {
			out = append(out, i)
		}
	}
	return out
}

// addPair adds a pair; ref or npu is -1 if the side is missing.
func (p *Planner) addPair(round *Round, ref, npu int, rule string) *Pair {
	x := Pair{Row: p.newRow(ref, npu, rule), Round: round}
	x.Row.Round, x.Row.RoundCoordinates, x.Row.Key = round.Name, round.RoundCoordinates, round.Pairing.Key
	if npu >= 0 {
		x.NPU = p.npu.Tensors[npu]
	}
	if ref >= 0 {
		x.Ref = p.ref.Tensors[ref]
	}
	if ref >= 0 && npu >= 0 && p.options.SideFiles.Fusion != nil && rule == string(pair.RuleFusion) {
		t := &p.npu.pairingNames[npu]
		if o, ok := p.options.SideFiles.Fusion.Origin(t.Index, t.Op, t.FileOp); ok && t.Kind == tensor.Output {
			if f, ok := tensor.ParseFormat(o.Format); ok {
				x.Format = &f
			}
		}
	}
	p.Pairs = append(p.Pairs, x)
	return &p.Pairs[len(p.Pairs)-1]
}

// newRow returns the row of a pair.
func (p *Planner) newRow(ref, npu int, rule string) *record.Row {
	row := &record.Row{Rule: rule}
	if pair.IsLoose(rule) {
		row.PairedBy = rule
	}
	if npu >= 0 {
		row.SetCall(callOf(p.npu.op[npu]))
		it, t := p.npu.Tensors[npu], &p.npu.pairingNames[npu]
		row.Op, row.OpType, row.Kind, row.Output = t.Name(), t.OpType, string(t.Kind), t.Index
		row.NPUFile, row.NPUPath, row.DeclaredType = it.String(), it.Path, it.declaredType()
		noteHeader(row, t, lang.Text{EN: "plan¦NPU"})
	}
	if ref >= 0 {
		if row.Script == "" && row.Modules == nil {
			row.SetCall(callOf(p.ref.op[ref]))
		}
		it, t := p.ref.Tensors[ref], &p.ref.pairingNames[ref]
		if name := t.Name(); name != row.Op {
			row.NPUOp, row.Op = row.Op, name
		}
		if row.OpType == "" {
			row.OpType = t.OpType
		}
		row.Kind, row.Output = string(t.Kind), t.Index
		row.RefFile, row.RefPath = it.String(), it.Path
		noteHeader(row, t, lang.Text{EN: "reference"})
	}
	return row
}

// misplacedFile is an unreadable file that belongs to no operator. Its row is in the round that its
// folder names, or in the first round. If that round is not compared, the file is left out
// like the rest of the round.
type misplacedFile struct {
	side    *Side
	problem dumpdir.Problem
	round   *Round // nil for the first round
}

// findUnreadRounds finds the rounds of unreadable files.
func (p *Planner) findUnreadRounds() {
	for _, side := range []*Side{p.ref, p.npu} {
		for _, problem := range side.unread {
			m := misplacedFile{side: side, problem: problem}
			for _, r := range p.rounds {
				of := r.pair.NPU
				if side == p.ref {
					of = r.pair.Ref
				}
				if m.round == nil && of.At == problem.At {
					m.round = r
				}
			}
			if m.round != nil || !slices.ContainsFunc(side.run.Rounds, func(r *dumpdir.Round) bool { return r.At == problem.At }) {
				p.misplaced = append(p.misplaced, m)
			}
		}
	}
}

// addUnread adds a row for each unreadable file that belongs to no operator.
func (p *Planner) addUnread() {
	for _, m := range p.misplaced {
		if m.round == nil {
			if p.share != nil && p.share.hasStrayTensors {
				continue
			}
			m.round = p.firstRound()
		}
		if !slices.Contains(p.rounds, m.round) {
			continue
		}
		row := &record.Row{Op: store.Base(m.problem.Path), Kind: string(tensor.Output), Round: m.round.Name, RoundCoordinates: m.round.RoundCoordinates, Key: m.round.Pairing.Key}
		MarkUnread(row, safefile.WithPath(m.problem.Path, m.problem.Err))
		if m.side == p.ref {
			row.RefFile, row.RefPath = filepath.ToSlash(m.problem.Path), m.problem.Path
		} else {
			row.NPUFile, row.NPUPath = filepath.ToSlash(m.problem.Path), m.problem.Path
		}
		p.Pairs = append(p.Pairs, Pair{Row: row, Round: m.round})
	}
}

// firstRound returns the first round, for rows that belong to none.
func (p *Planner) firstRound() *Round {
	if len(p.rounds) == 0 {
		p.rounds = append(p.rounds, &Round{Round: record.Round{Findings: record.NoFindings()}})
	}
	return p.rounds[0]
}

// noteHeader adds a note if the header of a file names another operator than the file name.
func noteHeader(row *record.Row, t *pair.Tensor, side lang.Text) {
	if t.Op != "" && t.Op != t.Name() {
		row.Notes = append(row.Notes, lang.Say("the header of the %s's file names %q", side, t.Op))
	}
}

// addAmbiguous adds a row for each tensor with several possible partners.
func (p *Planner) addAmbiguous(round *Round, a *pair.Ambiguity) {
	describe := func(ids []int, items []*Tensor) string {
		return strings.Join(lists.Map(ids, func(id int) string { return items[id].String() }), ", ")
	}
	if len(a.Refs) == 1 {
		x := p.addPair(round, a.Refs[0], -1, string(a.Rule))
		x.Row.Pair.Set(record.Ambiguous, finding.Unknown, lang.Say("%d NPU tensors by rule %s: %s", len(a.NPUs), a.Rule, describe(a.NPUs, p.npu.Tensors)))
		return
	}
	for _, ref := range a.Refs {
		round.Pairing.Candidates = append(round.Pairing.Candidates, p.ref.Tensors[ref].String())
	}
	for _, npu := range a.NPUs {
		x := p.addPair(round, -1, npu, string(a.Rule))
		x.Row.Pair.Set(record.Ambiguous, finding.Unknown, lang.Say("%d reference tensors by rule %s: %s", len(a.Refs), a.Rule, describe(a.Refs, p.ref.Tensors)))
	}
}

// addUnpaired adds a row for a tensor without a partner.
func (p *Planner) addUnpaired(round *Round, u pair.UnmatchedTensor, npu bool) {
	var x *Pair
	if npu {
		x = p.addPair(round, -1, u.ID, "")
		x.Row.Pair.Set(record.UnmatchedNPU, finding.NotInModel, lang.Say("the reference has no such tensor"))
	} else {
		x = p.addPair(round, u.ID, -1, "")
		x.Row.Pair.Status = record.UnmatchedRef
		x.Row.Pair.Reasons = p.whySkipped(x.Row)
	}
	for _, it := range []*Tensor{x.Ref, x.NPU} {
		if it != nil && it.Statistics != nil && (it.Table || p.options.Judge.Verdict.Mode == limits.ByStatistics) {
			x.Row.Statistics = unpairedStatistics(x)
		}
		if it != nil && it.Err != nil {
			x.Row.Pair.Reasons = nil
			MarkUnread(x.Row, safefile.WithPath(it.Path, it.Err))
		}
	}
	if !u.Why.IsZero() {
		x.Row.Notes = append(x.Row.Notes, u.Why)
	}
	if u.Near != "" {
		x.Row.Near = u.Near
		x.Row.Notes = append(x.Row.Notes, lang.Say("the nearest name without a partner there is %s", u.Near))
	}
}

// whySkipped returns the reasons in logs for a tensor that the NPU lacks; nil if there are none.
func (p *Planner) whySkipped(row *record.Row) []finding.Finding {
	lines := p.options.SideFiles.Skipped
	if p.skipped == nil {
		p.skipped = new(filename.Index)
		for i := range lines {
			p.skipped.Add(lines[i].Name, i)
		}
	}
	name := row.Op
	switch {
	case row.Kind != string(tensor.Output):
		return nil
	case row.Output > 0:
		name = fmt.Sprintf("%s:%d", name, row.Output)
	}
	i, ok := p.skipped.Find(name)
	if !ok {
		return nil
	}
	code := finding.Code(lines[i].Code)
	if !slices.Contains(skipCodes, code) {
		code = finding.Unknown
	}
	return []finding.Finding{{Code: code, Confidence: finding.High, Evidence: lang.Plain(lines[i].Text)}}
}

// skipCodes are the reasons for which an import omits tensors.
var skipCodes = []finding.Code{finding.BadHex, finding.SizeMismatch, finding.ReadError, finding.MissingPiece, finding.DuplicatePiece, finding.ConcatShape}

// MarkUnread marks a row whose tensors could not be read.
func MarkUnread(row *record.Row, err error) {
	code := finding.ReadError
	if _, unsupported := errors.AsType[*tensor.UnsupportedType](err); unsupported {
		code = finding.UnsupportedDType
	}
	row.Err, row.Transport = err, store.IsTransport(err)
	row.Pair.Set(record.Error, code, lang.Error(err))
}
