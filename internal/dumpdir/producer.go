package dumpdir

import (
	"cmp"
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/jsonpos"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Producer is the program that wrote a folder of dumps.
type Producer string

// The producers.
const (
	MSProbe   Producer = "msprobe"
	ATB       Producer = "atb"
	MindSpore Producer = "mindspore"
	HPAA      Producer = "hpaa"
	CANN      Producer = "cann"
	Arrays    Producer = "arrays"
)

// producer describes the folders of a producer. A new one takes a file that declares it, a line in
// producers, and a tree in the tests.
type producer struct {
	name Producer
	// locate reads the folders of a path. It returns false if the producer did not write the
	// folder, by the path and the files in it.
	locate func(p folderPath, f *Folder) (pathMeaning, bool)
	// identify returns the content of a file by its name; nil for identifyByName.
	identify func(f *File) identity
	// finish reads the side files of the folders after all files are listed; nil for a producer
	// without side files.
	finish func(r *reader, folders []*Folder)
}

// producers are tried in this order. The last one accepts any folder.
var producers = [...]producer{msprobeProducer, atbProducer, mindsporeProducer, hpaaProducer, cannProducer, arraysProducer}

// folderPath are the folders of a path, the outermost first.
type folderPath []filename.Folder

// parsePath splits a path with slashes; . has no folders.
func parsePath(dir string) folderPath {
	if dir == "." || dir == "" {
		return nil
	}
	var p folderPath
	for part := range strings.SplitSeq(dir, "/") {
		if part != "" {
			p = append(p, filename.ParseFolder(part))
		}
	}
	return p
}

// at returns folder i, the zero value outside the path.
func (p folderPath) at(i int) filename.Folder {
	if i < 0 || i >= len(p) {
		return filename.Folder{}
	}
	return p[i]
}

// lastOfKind returns the index of the last folder of a kind, -1 for none.
func (p folderPath) lastOfKind(kind filename.FolderKind) int {
	for i, folder := range slices.Backward(p) {
		if folder.Kind == kind {
			return i
		}
	}
	return -1
}

// join joins folders with slashes.
func (p folderPath) join() string {
	names := make([]string, len(p))
	for i, f := range p {
		names[i] = f.Name
	}
	return path.Join(names...)
}

// pathMeaning is the meaning of a path.
type pathMeaning struct {
	at Coordinates
	// start is the time at which the dump began, empty when unknown.
	start string
	// op is the operator in the folders below the round.
	op string
	// isSideFolder is set for folders of side files.
	isSideFolder bool
}

// identity is the content of a file, by its name.
type identity struct {
	role       Role
	op, opType string
	kind       tensor.Kind // empty for all tensors of the file
	index      int
	slice      string
	Moment
	device     string // in the file name
	step       string // in the file name
	source     string // the file that it was converted from, empty for none
	raw        bool   // elements without a header, and without a type in the name
	mayBeNamed bool   // it may be a file with named tensors; the first bytes tell
}

// sideNames are extensions of files without tensors, in lower case.
var sideNames = []string{".csv", ".file", ".htm", ".html", ".ir", ".json", ".log", ".md", ".pbtxt", ".png", ".py", ".sh", ".svg", ".xml", ".yaml", ".yml"}

// identifyByName returns the content of a file by the grammars of file names.
func identifyByName(f *File) identity {
	if table, ok := strings.CutSuffix(f.Name, ".csv"); ok {
		if n := filename.Parse(table); n.IsDump() {
			id := dumpIdentity(&n)
			id.role = Table
			return id
		}
	}
	n := filename.Parse(f.Name)
	if n.IsOpDebug() {
		return identity{role: Overflow, device: deviceOf(&n), source: n.Source}
	}
	if slices.Contains(sideNames, strings.ToLower(path.Ext(f.Name))) {
		return identity{role: Side}
	}
	if n.IsDump() {
		return dumpIdentity(&n)
	}
	c := tensorfile.ContainerOf(f.Name)
	if c == nil {
		return identity{}
	}
	// A copy of a tensor of msprobe: a parameter, or an element of a list such as
	// Torch.cat.0.forward.input.0.1.
	if id := cutMSProbe(strings.TrimSuffix(f.Name, path.Ext(f.Name))); n.Grammar == filename.Plain && strings.Contains(n.Stem, ".parameters") && id.kind != tensor.Output ||
		id.slice != "" && id.kind != tensor.Gradient && msprobe.ParseName(id.op).Direction != "" {
		return id
	}
	id := dumpIdentity(&n)
	id.source, id.raw = n.Source, c.Headless && n.Grammar != filename.Sync
	id.mayBeNamed = id.raw && n.DType == tensor.Undefined
	if n.Grammar == filename.Sync && !isOperator(n.OpName) {
		id.opType = parameterType
	}
	if c.Single {
		id.kind, id.index = n.Kind, n.Index
		if id.kind == "" {
			id.kind = tensor.Output
		}
	}
	return id
}

// dumpIdentity is the content of a dump, or of a file converted from a dump, by its name.
func dumpIdentity(n *filename.Info) identity {
	id := identity{role: Tensors, op: n.OpName, opType: n.OpType, slice: n.Slice, Moment: Moment{Timestamp: n.Timestamp, Seq: int64(n.Sequence)}, device: deviceOf(n)}
	if n.Step != "" {
		id.step = trimZeros(n.Step)
	}
	if n.HasDump {
		id.Task, id.HasTask = n.Dump.TaskID, true
	}
	return id
}

// isOperator reports whether a name in MindSpore's oldest synchronous dumps is an operator, such as
// Default/network/ReLU-op526, not a parameter or constant.
func isOperator(name string) bool { return strings.Contains(name, "-op") }

// deviceOf returns the device or rank in a file name, empty for none.
func deviceOf(n *filename.Info) string {
	if n.Rank != "" {
		return trimZeros(n.Rank)
	}
	if !n.HasDump || !n.Dump.HasDevice {
		return ""
	}
	return strconv.FormatUint(n.Dump.DeviceID, 10)
}

// arraysProducer accepts arrays and other files without a known producer, also files moved out of
// their producer's folders. It reads folder names of ranks and steps; other folders have no
// meaning.
var arraysProducer = producer{name: Arrays, locate: func(p folderPath, _ *Folder) (pathMeaning, bool) { return locateAny(p), true }}

// locateAny reads folders such as rank_0, device_0, step_0, step0 and iteration_0,
// in any order.
func locateAny(p folderPath) pathMeaning {
	var at pathMeaning
	var rest folderPath
	for _, folder := range p {
		switch folder.Kind {
		case filename.RankFolder:
			at.at.Rank = trimZeros(folder.Value)
		case filename.DeviceFolder:
			if at.at.Rank == "" {
				at.at.Rank = trimZeros(folder.Value)
			}
		case filename.StepFolder, filename.IterationFolder:
			at.at.Step = trimZeros(folder.Value)
		case filename.TimeFolder: // differs between two runs
			at.start = folder.Value
		default:
			rest = append(rest, folder)
		}
	}
	at.at.Folder = rest.join()
	return at
}

// Software is a program that made dumps.
type Software struct {
	Name    string
	Version string // empty if unknown
	File    string // the name of the file with the version
}

// rankSoftware is software of the rounds of a rank; an empty rank stands for all.
type rankSoftware struct {
	rank string
	Software
}

// configName is the file with MindSpore's version in the folder of its settings:
// {"device_target": "Ascend", "ms_version": "1.8.1"}.
const configName = "config.json"

// versionLength limits a version, which comes from a file and may hold anything.
const versionLength = 64 // characters

// readConfig notes the version of MindSpore.
func (r *reader) readConfig(file *File) {
	version := ""
	err := readSide(file.Path(), func(in io.Reader) error {
		text := jsonpos.NewReader(in, math.MaxInt64)
		err := text.Object(func(key string) error {
			if key != "ms_version" || text.Kind() != jsonpos.String {
				return text.Skip()
			}
			return text.Decode(&version)
		})
		return cmp.Or(err, text.End())
	})
	if err != nil {
		r.run.addProblem(BadSide, file.Path(), file.Folder.At, err)
		return
	}
	if version != "" {
		r.software = append(r.software, rankSoftware{file.Folder.At.Rank, Software{"mindspore", jsonpos.Shorten(version, versionLength), file.Name}})
	}
}

// attachSoftware sets the software of a round, from dump.json and from files of its rank.
func (r *reader) attachSoftware(round *Round) {
	if name := round.Header.Framework; name != "" {
		for i := range r.msprobes {
			if d := &r.msprobes[i]; *d.at == round.At {
				round.Software = append(round.Software, Software{Name: jsonpos.Shorten(name, versionLength), File: path.Base(d.file.Name)})
				break
			}
		}
	}
	for _, s := range r.software {
		if s.rank == "" || s.rank == round.At.Rank {
			round.Software = append(round.Software, s.Software)
		}
	}
}
