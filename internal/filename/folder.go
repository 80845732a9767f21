package filename

import "strings"

// FolderKind says what a folder of a dump tree stands for.
type FolderKind int

// The kinds of folders, after the public documentation of the Ascend toolkit and
// of MindSpore. A number is a device, a model or a step: the folders around it
// say which.
const (
	OtherFolder     FolderKind = iota
	NumberFolder               // 0
	TimeFolder                 // the time at which a dump began: 14 digits
	RankFolder                 // rank_0, rank0
	StepFolder                 // step_0, step0
	GraphFolder                // net_graph_1
	DeviceFolder               // device_0
	IterationFolder            // iteration_0
	ProcessFolder              // proc1234, of a process without a rank
)

// numbered are the folders of a word and a number, perhaps with _ between them.
var numbered = [...]struct {
	kind   FolderKind
	prefix string
}{{RankFolder, "rank"}, {StepFolder, "step"}, {DeviceFolder, "device"}, {IterationFolder, "iteration"}, {ProcessFolder, "proc"}}

// Folder is what the name of a folder says.
type Folder struct {
	Kind FolderKind
	Name string
	// Value is the number, the net of a graph, or else the name.
	Value string
}

// IsNumber reports whether the name is a number; that of a time is one too.
func (f Folder) IsNumber() bool { return f.Kind == NumberFolder || f.Kind == TimeFolder }

// ParseFolder takes the base name of a folder apart.
func ParseFolder(base string) Folder {
	const timeDigits, maxDigits = 14, 18
	switch {
	case !isDigits(base):
	case len(base) == timeDigits:
		return Folder{TimeFolder, base, base}
	case len(base) <= maxDigits:
		return Folder{NumberFolder, base, base}
	}
	for _, f := range numbered {
		if rest, ok := strings.CutPrefix(base, f.prefix); ok && isDigits(strings.TrimPrefix(rest, "_")) {
			return Folder{f.kind, base, strings.TrimPrefix(rest, "_")}
		}
	}
	if net, number, ok := cutLast(base, "_graph_"); ok && net != "" && isDigits(number) {
		return Folder{GraphFolder, base, net}
	}
	return Folder{OtherFolder, base, base}
}
