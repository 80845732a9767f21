package ranks

import (
	"slices"

	"dumptool/internal/trace"
)

// Flow is how data flows between the ranks of a step.
type Flow struct {
	// Clocks are Lamport clocks; Ordered is set where the order of the calls of all ranks is known.
	Clocks  map[*trace.Call]int
	Ordered bool

	events []*Event
}

// Flow finds which calls of a step communicate with each other, and the order of all calls.
func (r *Run) Flow(s *trace.Step, opt Options) *Flow {
	f := newReader(opt.Version)
	defer f.Close()
	f.DescribeAll([]*trace.Step{s}) // comparing reports tensors that cannot be opened
	r.inferStep(f, s, opt.Groups.Mesh)
	l := &Flow{events: r.events(s, &opt.Groups)}
	s.PutInOrder(&trace.Digests{Files: f.Files})
	l.Clocks, l.Ordered = clocks([]*trace.Step{s}, l.events), s.IsOrdered()
	return l
}

// Reads are the calls of all members whose outputs go into a communication, by its calls. Sources
// are the outputs of operators that the inputs of communications are.
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
