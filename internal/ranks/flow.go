package ranks

import (
	"slices"

	"dumptool/internal/trace"
)

// Flow is the data flow between the ranks of a step.
type Flow struct {
	// Clocks are Lamport clocks. Ordered: the order of the calls is known on all ranks.
	Clocks  map[*trace.Call]int
	Ordered bool

	events []*Event
}

// Flow finds which calls of a step communicate with each other, and the order of all calls.
func (r *Run) Flow(s *trace.Step, opt Options) *Flow {
	f := newReader(opt.Version)
	defer f.Close()
	f.DescribeAll([]*trace.Step{s}) // the comparison reports tensors that cannot be opened
	r.inferStep(f, s, opt.Groups.Mesh)
	l := &Flow{events: r.events(s, &opt.Groups)}
	s.PutInOrder(&trace.Digests{Files: f.Files})
	l.Clocks, l.Ordered = lamportClocks([]*trace.Step{s}, l.events), s.IsOrdered()
	return l
}

// Reads returns, for each call of a communication, the operators of all members whose outputs go into
// it. sourceOf maps an input of a communication to the output of an operator that it equals.
func (l *Flow) Reads(sourceOf map[*trace.Tensor]*trace.Tensor) map[*trace.Call][]*trace.Call {
	reads := make(map[*trace.Call][]*trace.Call)
	for _, e := range l.events {
		var sources []*trace.Call
		for i, c := range e.Calls {
			if c == nil {
				continue
			}
			for _, t := range e.comms[i].In {
				if from := sourceOf[t]; from != nil && !slices.Contains(sources, from.Call) {
					sources = append(sources, from.Call)
				}
			}
		}
		for _, c := range e.Calls {
			if c != nil {
				reads[c] = append(reads[c], sources...)
			}
		}
	}
	return reads
}
