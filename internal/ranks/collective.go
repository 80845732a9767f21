package ranks

import (
	"dumptool/internal/lang"
	"dumptool/internal/trace"
)

// inputPiece is the n elements from first on in the input of a member.
type inputPiece struct {
	from     int // index of a member in the group
	first, n int64
}

// outputPlan has the expected outputs of the members: pieces for copies, ranges for reductions.
type outputPlan struct {
	// pieces are the expected pieces of each member, to be joined; nil for a member that gets nothing.
	pieces [][]inputPiece
	// ranges are the expected parts of the reduction of all inputs, one for each member; empty for a member that gets
	// nothing.
	ranges []inputPiece
}

// errSplits: the sizes of the parts do not add up to the size of the whole.
var errSplits = lang.Errorf("parts do not add up")

// planOutputs computes the expected outputs. In a group of one every communication returns its input bit by bit.
func (e *Event) planOutputs() (*outputPlan, error) {
	p := &outputPlan{}
	for i := range e.Group {
		all, err := e.expectedPieces(i)
		switch {
		case err != nil:
			return nil, err
		case e.api().Pattern.Sums() && len(e.Group) > 1:
			p.ranges = append(p.ranges, append(all, inputPiece{})[0])
		default:
			p.pieces = append(p.pieces, all)
		}
	}
	return p, e.checkOutputSize(p)
}

// expectedPieces returns the expected pieces of a member: pieces of the inputs, or of the reduction of all inputs;
// nil for a member that gets nothing.
func (e *Event) expectedPieces(i int) (all []inputPiece, err error) {
	var each []int // members that send their part i
	root := e.memberIndex(e.root())
	whole := func(j int) inputPiece { return inputPiece{j, 0, trace.CountElements(e.comms[j].In)} }
	switch p := e.api().Pattern; {
	case (p == trace.ReduceRoot || p == trace.GatherRoot) && i != root, p.IsPair() && i == 0:
		return nil, nil
	case p == trace.AllReduce, p == trace.ReduceRoot, p.IsPair():
		return []inputPiece{whole(0)}, nil
	case p == trace.Broadcast:
		return []inputPiece{whole(root)}, nil
	case p == trace.AllGather, p == trace.GatherRoot:
		for j := range e.Group {
			all = append(all, whole(j))
		}
		return all, nil
	case p == trace.ReduceScatter:
		each = []int{0}
	case p == trace.ScatterRoot:
		each = []int{root}
	default:
		for j := range e.Group {
			each = append(each, j)
		}
	}
	for _, j := range each {
		part, err := e.inputPart(j, i)
		if err != nil {
			return nil, err
		}
		all = append(all, part)
	}
	return all, nil
}

// checkOutputSize returns an error if the size of an output differs from the plan.
func (e *Event) checkOutputSize(p *outputPlan) error {
	for i := range e.Group {
		var want int64
		if p.ranges != nil {
			want = p.ranges[i].n
		} else {
			for _, part := range p.pieces[i] {
				want += part.n
			}
		}
		nothing := p.ranges != nil && want == 0 || p.ranges == nil && p.pieces[i] == nil
		if got := trace.CountElements(e.comms[i].Out); got != want && !nothing {
			return lang.Errorf("%w: rank %d holds %d elements, want %d", errSplits, e.Group[i], got, want)
		}
	}
	return nil
}

// inputPart returns part i of the input of member j: a tensor of its list, a split of its first axis, or an equal part.
func (e *Event) inputPart(j, i int) (inputPiece, error) {
	m, n := e.comms[j], len(e.Group)
	switch {
	case len(m.In) == n && n > 1 && (len(m.In) > 1 && m.Sent == nil):
		var first int64
		for _, t := range m.In[:i] {
			first += t.Elements()
		}
		return inputPiece{j, first, m.In[i].Elements()}, nil
	case len(m.In) != 1:
		return inputPiece{}, lang.Errorf("%w: rank %d contributes %d tensors, want 1 or %d", errSplits, e.Group[j], len(m.In), n)
	}
	t := m.In[0]
	rows, row := int64(0), int64(1)
	if len(t.Shape) > 0 {
		rows = t.Shape[0]
		for _, d := range t.Shape[1:] {
			row *= d
		}
	}
	if m.Sent == nil {
		if rows%int64(n) != 0 {
			return inputPiece{}, lang.Errorf("%w: %d rows of rank %d among %d", errSplits, rows, e.Group[j], n)
		}
		each := rows / int64(n) * row
		return inputPiece{j, int64(i) * each, each}, nil
	}
	var total, before int64
	for k, s := range m.Sent {
		if s < 0 {
			return inputPiece{}, lang.Errorf("%w: rank %d sends %d rows", errSplits, e.Group[j], s)
		}
		total += s
		if k < i {
			before += s
		}
	}
	if len(m.Sent) != n || total != rows {
		return inputPiece{}, lang.Errorf("%w: rank %d sends %v of %d rows to %d ranks", errSplits, e.Group[j], m.Sent, rows, n)
	}
	if r := e.comms[i].Received; r != nil && (len(r) != n || r[j] != m.Sent[i]) {
		return inputPiece{}, lang.Errorf("%w: rank %d sends %d rows and rank %d receives %v", errSplits, e.Group[j], m.Sent[i], e.Group[i], r)
	}
	return inputPiece{j, before * row, m.Sent[i] * row}, nil
}

// judgement is the result of judging an event.
type judgement struct {
	found []*Finding
	notes []*Note
	// skip is the reason why the event was not checked.
	skip lang.Sentence
	err  error // read error
	// uniformError is the relative RMS error of a float reduction that is wrong on all members for an unknown reason, 0
	// otherwise.
	uniformError float64
	// isFloatReduction: the event is a reduction of floats.
	isFloatReduction bool
}

// reader reads the members of events, with buffers for a reduction. It serves one goroutine.
type reader struct {
	*trace.Files
	reduced reducedWindow
}

func newReader(version int) *reader { return &reader{Files: &trace.Files{Version: version}} }

// judge checks the outputs of an event against its inputs.
func (f *reader) judge(e *Event) judgement {
	if !e.skip.IsZero() {
		return judgement{skip: e.skip}
	}
	if e.api().Pattern == trace.AllToAll && e.comms[0].ArgsMissing && e.comms[0].Sent == nil && !f.findSplits(e) {
		return judgement{skip: lang.Say("the splits are unknown")}
	}
	p, err := e.planOutputs()
	if err != nil {
		return judgement{skip: lang.Error(err)}
	}
	if p.ranges != nil {
		return f.judgeReduction(e, p)
	}
	return f.judgeCopies(e, p)
}

// noElementsJudgement is the judgement of an event without stored tensors whose digests or statistics prove nothing.
func noElementsJudgement() judgement {
	return judgement{skip: lang.Say("no tensors, and the digests prove nothing")}
}

// newNote makes a note about an event.
func (e *Event) newNote(k Kind) *Note {
	return newNote(e.Step, k, e.Calls[e.firstPresent()].Name, e.Group)
}
