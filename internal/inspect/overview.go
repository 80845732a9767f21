package inspect

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"dumptool/internal/bundle"
	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/ranks"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// OverviewSchema is the schema of an Overview document.
const OverviewSchema = "dumptool/run/1"

// Overview describes the run at some paths, and is its document.
type Overview struct {
	Schema string `json:"schema"`
	// Run describes the run as a whole, Rounds its rounds.
	Run    Head    `json:"run"`
	Rounds []Round `json:"rounds"`
	// Ranks describes the groups that communicate, absent without communication.
	Ranks *ranks.Survey `json:"ranks,omitempty"`
	// Next lists sensible commands, if requested.
	Next []Command `json:"next,omitempty"`

	// Of is the run.
	Of *dumpdir.Run `json:"-"`
}

// Head describes a run as a whole.
type Head struct {
	// Paths lists the given paths, Producers the writers of the folders, Frameworks the frameworks
	// named by a dump.json.
	Paths      []string           `json:"paths"`
	Producers  []dumpdir.Producer `json:"producers"`
	Frameworks []string           `json:"frameworks,omitempty"`
	// Files counts the files, Bytes is their total size.
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// Records counts the files of overflow records.
	Records int `json:"overflow_records,omitempty"`
	// Inputs reports whether elements of inputs were dumped: check can compute operators again.
	Inputs bool `json:"inputs,omitempty"`
	// Types lists the element types of the tensors, most frequent first.
	Types []TypeCount `json:"types,omitempty"`
	// Headers is the number of files opened to find the types.
	Headers int `json:"headers,omitempty"`
	// Reference and NPU are the two sides of a comparison, if found in or beside the given path.
	Reference string `json:"reference,omitempty"`
	NPU       string `json:"npu,omitempty"`
	// Stems are the beginnings or ends of the file names of both sides, if they lie in one folder. More stems than
	// two are a choice.
	Stems []string `json:"stems,omitempty"`
	// Configurations lists the dump configurations in the run.
	Configurations []Configuration `json:"configurations,omitempty"`
	// Problems lists errors of the run, Warnings its oddities.
	Problems []dumpdir.Problem `json:"problems"`
	Warnings []lang.Sentence   `json:"warnings"`
}

// Round describes a round.
type Round struct {
	dumpdir.Coordinates
	// Operators counts the operators.
	Operators int `json:"operators"`
	// Order is the source of the execution order, Flow the source of the data flow.
	Order dumpdir.Order `json:"order"`
	Flow  dumpdir.Flow  `json:"data_flow"`
}

// TypeCount is the number of tensors of an element type.
type TypeCount struct {
	// Type is the element type, Tensors counts the tensors.
	Type    string `json:"type"`
	Tensors int    `json:"tensors"`
}

// Configuration is a dump configuration with its number of mistakes.
type Configuration struct {
	// Path is the file, Schema the schema of the configuration.
	Path   string `json:"path"`
	Schema string `json:"schema"`
	// Errors and Warnings count the findings.
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
}

const (
	// mostHeaders limits the headers read for the types, mostRemote the headers in an object store.
	mostHeaders = 64
	mostRemote  = 12
	// mostConfigs limits the files checked for a configuration.
	mostConfigs = 4
)

// NewOverview describes a run by its names and a few headers. check checks a possible dump
// configuration; nil skips configurations.
func NewOverview(ctx context.Context, run *dumpdir.Run, check func(path string) (Configuration, bool)) (*Overview, error) {
	o := &Overview{Schema: OverviewSchema, Of: run, Rounds: []Round{}, Ranks: ranks.NewSurvey(run.Rounds), Run: Head{
		Paths: emptyIfNil(run.Paths), Producers: emptyIfNil(run.Producers), Files: len(run.Files), Records: len(run.Records),
		Problems: emptyIfNil(run.Problems), Warnings: emptyIfNil(run.Warnings),
	}}
	for _, f := range run.Files {
		o.Run.Bytes += f.Size
	}
	for _, r := range run.Rounds {
		o.Rounds = append(o.Rounds, Round{r.At, len(r.Ops), r.Order, r.Flow})
		if f := r.Header.Framework; f != "" && !slices.Contains(o.Run.Frameworks, f) {
			o.Run.Frameworks = append(o.Run.Frameworks, f)
		}
	}
	if err := o.findTypes(ctx); err != nil {
		return nil, err
	}
	o.findSides()
	if check != nil {
		o.findConfigurations(check)
	}
	return o, nil
}

// emptyIfNil returns a list that is [] in documents if empty.
func emptyIfNil[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

// findTypes counts the types in tables, and in files spread over the run. It looks for inputs too.
func (o *Overview) findTypes(ctx context.Context) error {
	counts := make(map[string]int)
	files := o.filesOfRole(dumpdir.Tensors)
	if len(files) == 0 {
		files = o.filesOfRole(dumpdir.Unknown)
	}
	for _, r := range o.Of.Rounds {
		for _, op := range r.Ops {
			for i := range op.Tensors {
				t := &op.Tensors[i]
				if t.Table && t.Statistics != nil {
					counts[t.Statistics.DType.String()]++
				}
				o.Run.Inputs = o.Run.Inputs || !t.Table && t.Kind == tensor.Input
			}
		}
	}
	most := mostHeaders
	if len(files) > 0 && store.IsRemote(files[0].Path()) {
		most = mostRemote
	}
	n := min(len(files), most)
	o.Run.Headers = n
	for i := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		f := files[i*len(files)/n]
		in, err := tensorfile.Open(f.Path(), tensorfile.Options{Name: f.Name})
		if err != nil {
			continue // reported by inspect, and if nothing else is known
		}
		for i := range in.Tensors {
			counts[tensorfile.TypeName(in.Tensors[i].DType, in.Tensors[i].Origin)]++
			o.Run.Inputs = o.Run.Inputs || in.Tensors[i].Kind == tensor.Input
		}
		_ = in.Close()
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		o.Run.Types = append(o.Run.Types, TypeCount{name, counts[name]})
	}
	slices.SortStableFunc(o.Run.Types, func(a, b TypeCount) int { return cmp.Compare(b.Tensors, a.Tensors) })
	return nil
}

// HasTensors reports whether the run has data to compare or scan: tensors, files with names of dumps, or tables of
// statistics.
func (o *Overview) HasTensors() bool {
	return len(o.Run.Types) > 0 || len(o.filesOfRole(dumpdir.Table)) > 0 || slices.ContainsFunc(o.filesOfRole(dumpdir.Tensors), isDump)
}

func isDump(f *dumpdir.File) bool {
	name := filename.Parse(f.Name)
	return name.IsDump()
}

func (o *Overview) filesOfRole(role dumpdir.Role) []*dumpdir.File {
	return lists.Filter(o.Of.Files, func(f *dumpdir.File) bool { return f.Role == role && f.Err == nil })
}

// findConfigurations checks the small JSON files nearest to the given path for dump configurations.
func (o *Overview) findConfigurations(check func(path string) (Configuration, bool)) {
	const largest = 1 << 20
	var files []*dumpdir.File
	for _, f := range o.Of.Files {
		if f.Err == nil && f.Size <= largest && strings.EqualFold(path.Ext(f.Name), ".json") && !slices.Contains(otherJSON, f.Name) {
			files = append(files, f)
		}
	}
	depth := func(f *dumpdir.File) int { return strings.Count(f.Folder.Dir, "/") }
	slices.SortStableFunc(files, func(a, b *dumpdir.File) int { return cmp.Compare(depth(a), depth(b)) })
	for _, f := range files[:min(len(files), mostConfigs)] {
		if c, ok := check(f.Path()); ok {
			o.Run.Configurations = append(o.Run.Configurations, c)
		}
	}
}

// otherJSON lists JSON files beside dumps that are no configuration.
var otherJSON = []string{"dump.json", "stack.json", "construct.json", comparison}

// comparison is the file name of a comparison's document.
const comparison = "compare.json"

// findSides finds the two sides of a comparison: two given paths, two folders in the given path, or
// a folder beside it.
func (o *Overview) findSides() {
	paths := o.Run.Paths
	switch {
	case len(paths) == 2:
		o.Run.Reference, o.Run.NPU = paths[0], paths[1]
		if sideOfFolder(store.Base(paths[0])) == npuSide && sideOfFolder(store.Base(paths[1])) == referenceSide {
			o.Run.Reference, o.Run.NPU = paths[1], paths[0]
		}
	case len(paths) != 1 || o.Of.Single:
	case o.hasSides(paths[0]):
	case !store.IsRemote(paths[0]):
		o.findBeside(paths[0])
	}
}

// hasSides finds the sides in a path.
func (o *Overview) hasSides(root string) bool {
	s, ok := FindTwoSides(o.Of, root)
	if ok {
		o.Run.Reference, o.Run.NPU, o.Run.Stems = s.Reference, s.NPU, s.Stems
		o.Run.Problems = slices.DeleteFunc(slices.Clone(o.Run.Problems), func(p dumpdir.Problem) bool { return p.Kind == dumpdir.OtherLists })
	}
	return ok
}

// listSides returns the only two folders with calls in a run if one is of PyTorch and the other of
// MindSpore, which is the port to the NPU, or if both have the same calls.
func listSides(run *dumpdir.Run, root string) (reference, npu string, ok bool) {
	frameworks, calls := make(map[string]string), make(map[string]map[string]bool) // by folder
	for _, r := range run.Rounds {
		top, _, _ := strings.Cut(r.At.Folder, "/")
		if known, again := frameworks[top]; top == "" || again && known != r.Header.Framework {
			return "", "", false
		}
		frameworks[top] = r.Header.Framework
		if calls[top] == nil {
			calls[top] = make(map[string]bool)
		}
		for _, op := range r.Ops {
			calls[top][op.Name] = true
		}
	}
	folders := slices.Sorted(maps.Keys(frameworks))
	if len(folders) != 2 {
		return "", "", false
	}
	a, b := orderSides(folders[0], folders[1])
	switch {
	case frameworks[a] == mindspore && frameworks[b] == pytorch:
		a, b = b, a
	case frameworks[a] == pytorch && frameworks[b] == mindspore:
	case frameworks[a] == "" || frameworks[a] != frameworks[b] || !maps.Equal(calls[a], calls[b]):
		return "", "", false
	}
	return pathInFolder(run, root, a), pathInFolder(run, root, b), true
}

// Names of the frameworks in dump.json; either may be the reference of the other.
const (
	pytorch   = "pytorch"
	mindspore = "mindspore"
)

// otherFramework returns the only folder whose name indicates the other framework, else empty.
func otherFramework(own, names []string) (found string) {
	words := map[string][]string{pytorch: {mindspore}, mindspore: {pytorch, "torch"}}
	if len(own) != 1 {
		return ""
	}
	for _, name := range names {
		if slices.ContainsFunc(wordsOf(name), func(w string) bool { return slices.Contains(words[own[0]], w) }) {
			if found != "" {
				return ""
			}
			found = name
		}
	}
	return found
}

// findBeside finds the only folder or archive of the other side beside one.
func (o *Overview) findBeside(root string) {
	abs, err := store.Abs(root)
	if err != nil || store.Dir(abs) == abs || isReport(root) {
		return
	}
	parent := store.Dir(root)
	if base := store.Base(root); base == "." || base == ".." {
		parent = store.Dir(abs)
	}
	entries, err := store.ReadDir(parent)
	if err != nil {
		return
	}
	var names []string
	for _, e := range entries {
		folder := e.IsDir() && !isReport(store.Join(parent, e.Name()))
		if (folder || bundle.HasName(e.Name())) && e.Name() != store.Base(abs) {
			names = append(names, e.Name())
		}
	}
	if other := otherFramework(o.Run.Frameworks, names); other != "" {
		o.Run.Reference, o.Run.NPU = root, store.Join(parent, other)
		if o.Run.Frameworks[0] == mindspore {
			o.Run.Reference, o.Run.NPU = o.Run.NPU, o.Run.Reference
		}
		return
	}
	sides := foldersBySide(names)
	if sideOfFolder(store.Base(abs)) == referenceSide {
		if others := sides[npuSide]; len(others) == 1 {
			o.Run.Reference, o.Run.NPU = root, store.Join(parent, others[0])
		}
		return
	}
	if others := sides[referenceSide]; len(others) == 1 {
		o.Run.Reference, o.Run.NPU = store.Join(parent, others[0]), root
	}
}

// Command is a suggested command of dumptool.
type Command struct {
	// Args are the arguments of dumptool, Line is the whole command for a shell.
	Args []string `json:"args"`
	Line string   `json:"line"`
	// Why is the purpose of the command.
	Why lang.Sentence `json:"why"`
}

// mostSteps limits the suggested commands.
const mostSteps = 3

// Suggest sets Next.
func (o *Overview) Suggest() {
	o.Next = []Command{}
	for i := range steps {
		s := &steps[i]
		if args := s.args(o); args != nil && len(o.Next) < mostSteps {
			o.Next = append(o.Next, Command{args, lang.CommandLine(args...), lang.Say("%s", s.why)})
		}
	}
}

// IsKnown reports whether any command can use the run.
func (o *Overview) IsKnown() bool {
	return o.HasTensors() || o.Run.Records > 0 || slices.ContainsFunc(steps[:], func(s suggestedCommand) bool { return s.args(o) != nil })
}

// suggestedCommand is a possible command; args returns nil if it does not apply.
type suggestedCommand struct {
	why  lang.Text
	args func(o *Overview) []string
}

// steps lists the commands, most useful first.
var steps = [...]suggestedCommand{
	{lang.Text{EN: "which operator went wrong first, and why"}, func(o *Overview) []string {
		if o.Run.Reference == "" {
			return nil
		}
		if o.Run.Stems != nil {
			return []string{"compare", lang.PathArgument(o.Run.NPU), "--stems", strings.Join(o.Run.Stems[:2], ","), "-out", "report"}
		}
		return []string{"compare", "--cpu", lang.PathArgument(o.Run.Reference), "--npu", lang.PathArgument(o.Run.NPU), "-out", "report"}
	}},
	{lang.Text{EN: "which operator computed wrong, from its own inputs"}, func(o *Overview) []string {
		if !o.Run.Inputs || o.Of.Single || len(o.Run.Paths) > 1 {
			return nil
		}
		return append([]string{"check"}, o.npu()...)
	}},
	{lang.Text{EN: "whether the runs give the same bits"}, func(o *Overview) []string {
		if len(o.Run.Paths) < 2 || !o.HasTensors() {
			return nil
		}
		return append([]string{"compare", "determinism"}, lang.PathArguments(o.Run.Paths)...)
	}},
	{lang.Text{EN: "which operator overflowed first"}, func(o *Overview) []string {
		if o.Run.Records == 0 || len(o.Run.Paths) > 1 {
			return nil
		}
		return []string{"overflow", "analyze", "-d", lang.PathArgument(o.Run.Paths[0])}
	}},
	{lang.Text{EN: "who overwrote the memory of an operator"}, func(o *Overview) []string {
		return o.commandOnFile([]string{"overflow", "watch"}, func(f *dumpdir.File) bool { return strings.Contains(filename.Parse(f.Name).OpName, "_To_") })
	}},
	{lang.Text{EN: "the script line and the dumps of an operator"}, func(o *Overview) []string {
		query := "%0"
		for _, r := range o.Of.Rounds {
			if len(r.Ops) > 0 && r.Order.IsKnown() {
				query = r.Ops[0].Name
				break
			}
		}
		command := o.commandOnFile([]string{"find", "-d"}, func(f *dumpdir.File) bool { return isSaved(false)(f.Name) || isSaved(true)(f.Name) })
		if command == nil {
			return nil
		}
		return append(command, query)
	}},
	{lang.Text{EN: "the mistakes in the configuration"}, func(o *Overview) []string {
		for _, c := range o.Run.Configurations {
			if c.Errors+c.Warnings > 0 || o.Of.Single {
				return []string{"config", "check", lang.PathArgument(c.Path)}
			}
		}
		return nil
	}},
	{lang.Text{EN: "what the configuration dumps"}, func(o *Overview) []string {
		if !o.Of.Single || len(o.Run.Configurations) == 0 {
			return nil
		}
		return []string{"config", "explain", lang.PathArgument(o.Run.Configurations[0].Path)}
	}},
	{lang.Text{EN: "the page of the comparison"}, func(o *Overview) []string {
		if p := o.topLevelPath(comparison); p != "" {
			return []string{"report", p, "-out", "report.html"}
		}
		return nil
	}},
	{lang.Text{EN: "the verdict again, by other limits"}, func(o *Overview) []string {
		if p := o.topLevelPath(comparison); p != "" {
			return []string{"compare", "judge", p, "--atol", "0.001", "--rtol", "0.01"}
		}
		return nil
	}},
	{lang.Text{EN: "where the time goes"}, func(o *Overview) []string {
		return o.commandOnFile([]string{"perf"}, func(f *dumpdir.File) bool { return perfTable().MatchString(f.Name) })
	}},
	{lang.Text{EN: "arrays of the raw pieces of HPAA"}, func(o *Overview) []string {
		pieces := func(f *dumpdir.File) bool { return strings.Contains(f.Name, "_map_name@") }
		if o.commandOnFile(nil, pieces) == nil {
			return nil
		}
		return []string{"hpaa", "import", lang.PathArgument(strings.TrimSuffix(strings.TrimSuffix(o.Run.Paths[0], "/"), "/dump_data")), "--piece-pattern", "successor"}
	}},
	{lang.Text{EN: "its values"}, func(o *Overview) []string {
		if !o.Of.Single || len(o.Run.Types) == 0 {
			return nil
		}
		return []string{"show", lang.PathArgument(o.Run.Paths[0])}
	}},
	{lang.Text{EN: "NaN, Inf and saturated values in execution order"}, func(o *Overview) []string {
		if !o.HasTensors() || o.Of.Single {
			return nil
		}
		return append([]string{"overflow", "scan"}, o.npu()...)
	}},
	{lang.Text{EN: "host files of the dumps"}, func(o *Overview) []string {
		return o.commandOnFile([]string{"convert", "-out", "converted", "-d"}, func(f *dumpdir.File) bool { return f.Role == dumpdir.Tensors && isDump(f) })
	}},
	{lang.Text{EN: "every tensor with its range"}, func(o *Overview) []string {
		if !o.HasTensors() {
			return nil
		}
		return append([]string{"inspect", "--stats"}, o.npu()...)
	}},
}

// npu returns arguments for the given paths without the reference.
func (o *Overview) npu() []string {
	if o.Run.NPU != "" && len(o.Run.Paths) == 1 && o.Run.Reference != o.Run.Paths[0] {
		return []string{lang.PathArgument(o.Run.NPU)}
	}
	return lang.PathArguments(o.Run.Paths)
}

// perfTable matches names of performance tables.
var perfTable = lang.Pattern(`^op_perf(_[0-9]+)?\.csv$`)

// commandOnFile returns a command on the only given path if a file satisfies is.
func (o *Overview) commandOnFile(command []string, is func(*dumpdir.File) bool) []string {
	if len(o.Run.Paths) > 1 || !slices.ContainsFunc(o.Of.Files, is) {
		return nil
	}
	return append(slices.Clone(command), o.npu()[0])
}

// topLevelPath returns the path of the top-level file with a name.
func (o *Overview) topLevelPath(name string) string {
	i := slices.IndexFunc(o.Of.Files, func(f *dumpdir.File) bool { return path.Base(f.Name) == name && f.Folder.Dir == "." })
	if i < 0 {
		return ""
	}
	return lang.PathArgument(o.Of.Files[i].Path())
}
