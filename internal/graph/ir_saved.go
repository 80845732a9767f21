package graph

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Saved is what the name of a file says in which MindSpore saved a graph.
type Saved struct {
	// Stage is the place of the stage of the compilation among all, the last one
	// first: what a dump shows is the graph of the last stage.
	Stage int
	// Graph is the number of the graph, -1 for one that the name does not say.
	Graph int
	// Seq is the number of the file in its run, of which the highest one is the
	// last; -1 for none.
	Seq int
	// Proto is set for protobuf.
	Proto bool
}

// savedForms are the names by stage. The groups are the graph and the number of the
// file.
var savedForms = [...]struct {
	name       *regexp.Regexp
	graph, seq int
}{
	{regexp.MustCompile(`^ms_output_trace_code_graph_(\d+)\.(?:ir|pb)$`), 1, 0},
	{regexp.MustCompile(`^trace_code_graph_(\d+)(?:_(\d+))?(?:\.ir)?$`), 1, 2},
	{regexp.MustCompile(`^graph_build_(\d+)(?:_(\d+))?\.ir$`), 1, 2},
	{regexp.MustCompile(`^hwopt_.*end.*_graph_(\d+)(?:_(\d+))?\.ir$`), 1, 2},
	{regexp.MustCompile(`^hwopt_.*_graph_(\d+)(?:_(\d+))?\.ir$`), 1, 2},
	{regexp.MustCompile(`^\d+_execute(?:_(\d+))?\.ir$`), 0, 1},
	{regexp.MustCompile(`^\d+_validate(?:_(\d+))?\.ir$`), 0, 1},
	{regexp.MustCompile(`\.ir$`), 0, 0},
}

// OtherStage is the stage of names that do not say theirs; each is a graph.
const OtherStage = len(savedForms) - 1

// ParseSaved takes the base name of a file apart. It reports whether such a file may
// be a graph.
func ParseSaved(base string) (Saved, bool) {
	if !strings.Contains(base, "graph_") && !strings.HasSuffix(base, ".ir") {
		return Saved{}, false
	}
	for stage, form := range savedForms {
		m := form.name.FindStringSubmatch(base)
		if m == nil {
			continue
		}
		s := Saved{Stage: stage, Graph: -1, Seq: -1, Proto: strings.HasSuffix(base, ".pb")}
		if form.graph > 0 {
			s.Graph = savedNumber(m[form.graph])
		}
		if form.seq > 0 {
			s.Seq = savedNumber(m[form.seq])
		}
		// One number of four digits is that of the file.
		const seqDigits = 4
		if stage == 1 && s.Seq < 0 && len(m[1]) == seqDigits {
			s.Graph, s.Seq = -1, s.Graph
		}
		return s, true
	}
	return Saved{}, false
}

func savedNumber(digits string) int {
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil {
		return -1
	}
	return int(n)
}

// LastStage returns the indexes of the files of a folder that count: those of the
// last stage that is there, and of each graph the last file. Protobuf comes behind
// the text; it counts where the text of its graph is missing or holds no node.
func LastStage(all []Saved) []int {
	type key struct {
		graph int
		proto bool
	}
	stage := OtherStage
	for _, s := range all {
		stage = min(stage, s.Stage)
	}
	last := make(map[key]int)
	for i, s := range all {
		k := key{s.Graph, s.Proto}
		if old, ok := last[k]; s.Stage == stage && (!ok || s.Seq > all[old].Seq) {
			last[k] = i
		}
	}
	var chosen []int
	for i, s := range all {
		if s.Stage == stage && (stage == OtherStage || last[key{s.Graph, s.Proto}] == i) {
			chosen = append(chosen, i)
		}
	}
	slices.SortStableFunc(chosen, func(a, b int) int {
		switch {
		case all[a].Proto != all[b].Proto && all[a].Proto:
			return 1
		case all[a].Proto != all[b].Proto:
			return -1
		}
		return cmp.Compare(all[a].Graph, all[b].Graph)
	})
	return chosen
}
