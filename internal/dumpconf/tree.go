package dumpconf

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/graph"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/safefile"
	"dumptool/internal/sidefile"
)

// Tree describes the dump that a configuration produced.
type Tree struct {
	// Steps lists iterations with dumps, Ranks the ranks or devices, in natural order. RanksKnown:
	// other ranks would be visible.
	Steps, Ranks []string
	RanksKnown   bool
	// Executed lists the executed iterations of all graphs in natural order; empty if MindSpore did not
	// write them.
	Executed []string
	// Order lists the full names of the executed operators of all graphs, without repeats; empty if
	// MindSpore did not write them.
	Order []string
	// GraphOps lists the full names of the operators in the graphs; it equals Order if no graph was
	// saved.
	GraphOps []string
	// Graphs lists the numbers of saved graphs, Dumped the numbers of dumped graphs.
	Graphs, Dumped []string
	// Mapped: a mapping.csv holds names that are too long for a file.
	Mapped bool

	names        map[string]bool // normalised names of dumped operators
	lastSegments map[string]bool // type and name of dumped operators whose name may be a last segment
}

// TreeFile is a configuration found in the tree that it produced.
type TreeFile struct {
	Path string
	Tree *Tree
}

// The folders of a dump that hold its configuration, and the name of the configuration.
const (
	oldMetadata  = ".metadata"
	rankMetadata = ".dump_metadata"
	settingsName = "data_dump.json"
)

// OpenTree finds the configurations in a MindSpore dump and describes the dump. bad lists errors of
// unreadable side files, which do not stop it.
func OpenTree(ctx context.Context, dir string) (all []TreeFile, bad []error, err error) {
	run, err := dumpdir.Open(ctx, []string{dir}, dumpdir.Options{NoRaw: true})
	if err != nil {
		return nil, nil, err
	}
	for _, f := range run.Files {
		base := path.Base(f.Folder.Dir)
		if f.Name != settingsName || base != oldMetadata && base != rankMetadata || f.Err != nil {
			continue
		}
		t := &Tree{RanksKnown: base == oldMetadata || path.Dir(f.Folder.Dir) != "."}
		rank := f.Folder.At.Rank
		t.addRounds(run, rank)
		bad = append(bad, t.addSides(run, rank)...)
		all = append(all, TreeFile{f.Path(), t})
	}
	return all, bad, ctx.Err()
}

// addRounds adds the dumps of a rank; empty stands for all ranks.
func (t *Tree) addRounds(run *dumpdir.Run, rank string) {
	t.names, t.lastSegments = make(map[string]bool), make(map[string]bool)
	steps, ranks, graphs := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for _, round := range run.Rounds {
		ranks[round.At.Rank] = true
		if rank != "" && round.At.Rank != rank {
			continue
		}
		steps[round.At.Step], graphs[round.At.Graph] = true, true
		for _, op := range round.Ops {
			norm := filename.Normalise(op.Name)
			t.names[norm] = true
			t.lastSegments[strings.ToLower(op.Type)+"\x00"+norm] = true
		}
	}
	t.Steps, t.Ranks, t.Dumped = sortedValues(steps), sortedValues(ranks), sortedValues(graphs)
}

// sortedValues returns a set in natural order, without the empty value.
func sortedValues(set map[string]bool) []string {
	delete(set, "")
	return slices.SortedFunc(maps.Keys(set), lang.CompareNatural)
}

// addSides reads the execution orders and graphs of a rank.
func (t *Tree) addSides(run *dumpdir.Run, rank string) (bad []error) {
	order, graphs, numbers, ran := make(map[string]bool), make(map[string]bool), make(map[string]bool), make(map[string]bool)
	folders := make(map[*dumpdir.Folder][]*dumpdir.File) // folders with graphs
	side := func(f *dumpdir.File, read func(io.Reader) error) {
		if err := readSide(f, read); err != nil {
			bad = append(bad, err)
		}
	}
	for _, f := range run.Files {
		t.Mapped = t.Mapped || path.Base(f.Path()) == "mapping.csv"
		if at := f.Folder.At.Rank; f.Err != nil || rank != "" && at != "" && at != rank {
			continue
		}
		if strings.HasPrefix(f.Name, "ms_execution_order_graph_") && path.Base(f.Folder.Dir) == "execution_order" {
			side(f, func(in io.Reader) error {
				o, err := sidefile.ReadExecutionOrder(in, f.Name)
				if o != nil {
					t.Order = appendNew(t.Order, order, o.Names...)
				}
				return err
			})
		}
		if strings.HasPrefix(f.Name, sidefile.GlobalOrder) {
			side(f, func(in io.Reader) error {
				iterations, err := sidefile.ReadIterations(in)
				if iterations != nil {
					for _, n := range iterations.Numbers {
						ran[strconv.FormatUint(n, 10)] = true
					}
				}
				return err
			})
		}
		if _, ok := graph.ParseSaved(f.Name); ok {
			folders[f.Folder] = append(folders[f.Folder], f)
		}
	}
	for _, folder := range slices.SortedFunc(maps.Keys(folders), func(a, b *dumpdir.Folder) int { return strings.Compare(a.Dir, b.Dir) }) {
		for _, f := range lastStage(folders[folder]) {
			saved, _ := graph.ParseSaved(f.Name)
			if saved.Graph >= 0 {
				numbers[strconv.Itoa(saved.Graph)] = true
			}
			side(f, func(in io.Reader) error {
				read := graph.ReadIR
				if saved.Proto {
					read = func(in io.Reader) (*graph.IR, error) { return graph.ReadIRProto(in, f.Size) }
				}
				g, err := read(in)
				if g == nil {
					return err
				}
				for i := range g.Nodes {
					if name := g.Nodes[i].OpName(); strings.Contains(name, "/") {
						t.GraphOps = appendNew(t.GraphOps, graphs, strings.Clone(name))
					}
				}
				return err
			})
		}
	}
	t.Graphs, t.Executed = sortedValues(numbers), sortedValues(ran)
	if len(t.GraphOps) == 0 {
		t.GraphOps = t.Order
	}
	return bad
}

// lastStage returns the files of graph.LastStage.
func lastStage(files []*dumpdir.File) []*dumpdir.File {
	saved := make([]graph.SavedFile, len(files))
	for i, f := range files {
		saved[i], _ = graph.ParseSaved(f.Name)
	}
	return lists.Map(graph.LastStage(saved), func(i int) *dumpdir.File { return files[i] })
}

// readSide opens and reads a file of a tree; errors name the file.
func readSide(f *dumpdir.File, read func(io.Reader) error) error {
	return safefile.Read(f.Path(), func(in safefile.Input) error {
		if err := read(in); err != nil {
			return lang.Errorf("%s: %w", f.Path(), err)
		}
		return nil
	})
}

func appendNew(list []string, seen map[string]bool, names ...string) []string {
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			list = append(list, name)
		}
	}
	return list
}

// hasDump reports whether an operator has a dump, by full name, or by type and last segment as in files
// of releases up to 2.2.
func (t *Tree) hasDump(name string) bool {
	last := lastSegment(name)
	return t.names[filename.Normalise(name)] || t.lastSegments[strings.ToLower(opTypeOf(last))+"\x00"+filename.Normalise(last)]
}

func lastSegment(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// opTypeOf returns the type of an operator from the last segment of its name.
func opTypeOf(last string) string {
	opType, _, _ := strings.Cut(last, "-op")
	return opType
}

// missingOps returns the operators without a dump.
func (t *Tree) missingOps(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), t.hasDump)
}

// expectedOps returns the operators that should be dumped. Order is preferred to GraphOps, which
// contains nodes that run nothing.
func (t *Tree) expectedOps() []string {
	if len(t.Order) > 0 {
		return t.Order
	}
	return t.GraphOps
}

// mindSporeTreeRules compare a configuration with its dump.
var mindSporeTreeRules = []rule{
	{id: "MS070", severity: Error, checks: "an iteration that was asked for is not there", guess: true,
		message: Text{EN: "iteration %s requested, %s dumped: %s"},
		ms: treeRule(func(m *MindSpore, t *Tree, r *reporter) {
			var dumped any = lang.Say("none")
			if len(t.Steps) > 0 {
				dumped = lang.Ranges(t.Steps)
			}
			for _, p := range m.Steps {
				if missing := missingSteps(p, t.Steps); missing != "" && m.debugMode() == 0 {
					r.report(stepSpan(p, m.setting("iteration")), missing, dumped, t.missingReason(p, missing))
				}
			}
		})},
	{id: "MS071", severity: Error, checks: "a device that was asked for has no dumps", guess: true,
		message: Text{EN: "%s requested, nothing dumped"},
		ms: treeRule(func(m *MindSpore, t *Tree, r *reporter) {
			devices := m.setting("support_device").Elems
			configured := valuesOf(devices)
			other := func(rank string) bool { return !slices.Contains(configured, rank) }
			// Ranks of several hosts are no device ids.
			if !t.RanksKnown || m.debugMode() != 0 || slices.ContainsFunc(t.Ranks, other) {
				return
			}
			for _, s := range devices {
				r.reportIf(s.OK && len(t.Ranks) > 0 && !slices.Contains(t.Ranks, s.Value), s.valueSpan(), deviceName(s.Uint))
			}
		})},
	{id: "MS072", severity: Info, checks: "inputs or outputs alone were dumped", guess: true, message: sentenceMessage,
		ms: treeRule(func(m *MindSpore, _ *Tree, r *reporter) {
			s := m.setting("input_output")
			r.reportIf(s.Uint == 2, s.valueSpan(), lang.Say("only outputs were dumped (input_output 2): for an input take the output of its producer, which dumptool find names"))
			r.reportIf(s.Uint == 1, s.valueSpan(), lang.Say("only inputs were dumped (input_output 1): for an output take the input of its consumer, which dumptool find names"))
		})},
	{id: "MS073", severity: Error, checks: "an operator of kernels has no dump", guess: true,
		message: Text{EN: "kernels entry %s: %s"},
		ms: treeRule(func(m *MindSpore, t *Tree, r *reporter) {
			for i, s := range m.setting("kernels").Elems {
				if s.OK && m.setting("dump_mode").Uint == 1 && m.debugMode() == 0 && len(t.GraphOps) > 0 {
					if fault := t.kernelFault(m.Kernels[i]); !fault.IsZero() {
						r.report(s.valueSpan(), quoteShort(s.Value), fault)
					}
				}
			}
		})},
	{id: "MS074", severity: Info, checks: "statistics alone were dumped", guess: true,
		message: Text{EN: "statistics only: no tensor files are expected"},
		ms: treeRule(func(m *MindSpore, _ *Tree, r *reporter) {
			r.reportIf(m.setting("saved_data").Value == "statistic", m.setting("saved_data").valueSpan())
		})},
	{id: "MS075", severity: Info, checks: "operators that overflow alone were dumped", guess: true,
		message: Text{EN: "only overflowing operators are kept: missing operators did not overflow"},
		ms: treeRule(func(m *MindSpore, _ *Tree, r *reporter) {
			r.reportIf(m.debugMode() != 0, m.setting("op_debug_mode").valueSpan())
		})},
	{id: "MS076", severity: Error, checks: "nearly all operators have dumps, or nearly none", guess: true,
		message: Text{EN: "%d of %d operators of the execution order were not dumped: %s"},
		ms: treeRule(func(m *MindSpore, t *Tree, r *reporter) {
			missing, all := t.missingOps(t.Order), len(t.Order)
			// Shares between 5 % and 95 % result from a setting that the dump does not show.
			isFew, isMost := len(missing)*20 < all, len(missing)*20 > all*19
			r.reportIf(m.dumpsAll() && len(missing) > 0 && (isFew || isMost), m.setting("dump_mode").valueSpan(), len(missing), all, lang.FirstNames(missing))
		})},
	{id: "MS077", severity: Error, checks: "names of operators are too long for files", guess: true,
		message: Text{EN: "file name too long: set reserve_class_name_in_scope=False (%s: %s)"},
		ms: treeRule(func(m *MindSpore, t *Tree, r *reporter) {
			long := slices.DeleteFunc(t.missingOps(t.Order), func(name string) bool { return !isTooLong(name) })
			r.reportIf(m.dumpsAll() && len(long) > 0 && !t.Mapped, m.setting("dump_mode").valueSpan(), lang.CountText(len(long), "operator"), lang.FirstNames(long))
		})},
	{id: "MS078", severity: Info, checks: "a graph that was saved has no dumps", guess: true,
		message: Text{EN: "graph %s was not executed, or its operators are in the folder of its root graph"},
		ms: treeRule(func(m *MindSpore, t *Tree, r *reporter) {
			for _, g := range t.Graphs {
				r.reportIf(len(t.Dumped) > 0 && !slices.Contains(t.Dumped, g), m.Common.keySpan(), g)
			}
		})},
}

// treeRule makes a rule for configurations found in a dump.
func treeRule(check func(m *MindSpore, t *Tree, r *reporter)) func(*MindSpore, *reporter) {
	return func(m *MindSpore, r *reporter) {
		if r.opt.Tree != nil {
			check(m, r.opt.Tree, r)
		}
	}
}

// dumpsAll reports whether every operator should be dumped.
func (m *MindSpore) dumpsAll() bool {
	return m.setting("dump_mode").OK && m.setting("dump_mode").Uint == 0 && m.debugMode() == 0
}

// missingReason explains why the missing steps of a piece were not dumped.
func (t *Tree) missingReason(p lang.Step, missing string) lang.Sentence {
	if len(t.Executed) > 0 {
		seen := slices.Concat(t.Executed, t.Steps)
		slices.SortFunc(seen, lang.CompareNatural)
		switch missingSteps(p, slices.Compact(seen)) {
		case "":
			return lang.Say("it was not dumped, although it ran according to ms_global_execution_order")
		case missing:
			return lang.Say("it did not run according to ms_global_execution_order")
		}
	}
	return lang.Say("the run ended before, or dataset_sink_mode")
}

// missingSteps lists the steps of a piece that are not in dumped, which is sorted; empty for none.
func missingSteps(p lang.Step, dumped []string) string {
	if !p.Valid() {
		return ""
	}
	var parts []string
	add := func(from, to uint64) {
		switch {
		case from == to:
			parts = append(parts, strconv.FormatUint(from, 10))
		case from < to:
			parts = append(parts, fmt.Sprintf("%d-%d", from, to))
		}
	}
	next := p.From
	for _, text := range dumped {
		step, err := strconv.ParseUint(text, 10, 64)
		if err != nil || step < next || step > p.To {
			continue
		}
		if step > next {
			add(next, step-1)
		}
		if step == p.To {
			return lang.FirstNames(parts)
		}
		next = step + 1
	}
	add(next, p.To)
	return lang.FirstNames(parts)
}

// kernelFault describes the missing operators of an entry of kernels.
func (t *Tree) kernelFault(k Kernel) lang.Sentence {
	matches := k.newMatcher()
	if matches == nil {
		return lang.Sentence{} // a separate rule reports the malformed entry
	}
	if !slices.ContainsFunc(t.GraphOps, matches) && !slices.ContainsFunc(t.Order, matches) {
		similar := lang.NearestOf(k.Pattern, t.GraphOps, 3)
		if len(similar) == 0 {
			return lang.Say("not in the graph")
		}
		return lang.Say("not in the graph; nearest are %s", strings.Join(similar, ", "))
	}
	matching := slices.DeleteFunc(slices.Clone(t.expectedOps()), func(name string) bool { return !matches(name) })
	missing := t.missingOps(matching)
	switch {
	case len(missing) == 0 && len(matching) > 0:
		return lang.Sentence{}
	case len(matching) <= 1:
		return lang.Say("in the graph, not dumped")
	}
	return lang.Say("in the graph, %d of %d not dumped: %s", len(missing), len(matching), lang.FirstNames(missing))
}

// newMatcher returns a predicate on full names of operators that the entry matches; nil for an
// unusable entry.
func (k Kernel) newMatcher() func(name string) bool {
	switch k.Kind {
	case KernelName:
		return func(name string) bool { return name == k.Pattern }
	case KernelRegex:
		if len(k.Pattern) > longestRegex {
			return nil
		}
		re, err := regexp.Compile("^(?:" + k.Pattern + ")$")
		if err != nil {
			return nil
		}
		return re.MatchString
	}
	if k.Pattern == "" {
		return nil
	}
	part := strings.ToLower(k.Pattern)
	return func(name string) bool {
		opType, _, _ := strings.Cut(lastSegment(name), "-")
		return strings.Contains(strings.ToLower(opType), part)
	}
}

// isTooLong reports whether the file name of an operator's dump is too long for file systems.
func isTooLong(name string) bool {
	const longest = 255 // bytes
	shortest := opTypeOf(lastSegment(name)) + "." + filename.Normalise(name) + ".0.0.1700000000000000.input.0.DefaultFormat.npy"
	return len(shortest) > longest
}
