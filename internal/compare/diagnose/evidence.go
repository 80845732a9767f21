package diagnose

import (
	"fmt"
	"strings"

	"dumptool/internal/compare/engine"
)

// inputNames names the inputs of the evidence.
func (s *subject) inputNames() string {
	names := make([]string, 0, len(s.inputs.rows))
	for _, row := range s.inputs.rows {
		names = append(names, rowName(&s.network.ops[row]))
	}
	return someOf(names) + s.guess()
}

// guess says how the inputs are known when a graph does not name them.
func (s *subject) guess() string {
	switch {
	case s.inputs.inferred:
		return ", inferred: the operator before"
	case len(s.inputs.through) > 0:
		return ", through " + someOf(s.inputs.through) + " without a dump"
	default:
		return ""
	}
}

func rowName(op *Op) string {
	kind := ""
	if op.Input {
		kind = "input:"
	}
	return fmt.Sprintf("%s:%s%d", op.Name, kind, op.Output)
}

// someOf joins the first few names.
func someOf(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

func metricText(m engine.Metric) string {
	if !m.Defined {
		return "undefined"
	}
	return fmt.Sprintf("%.3g", m.Value)
}
