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
	"dumptool/internal/jsonpos"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Producer is who wrote a folder of dumps.
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

// producer says how one of them writes its folders. Adding one takes a file that
// declares it, a line in producers, and a tree in the tests.
type producer struct {
	name Producer
	// locate says what the folders of a path stand for. It reports false where the
	// producer did not write the folder, by the path and the files in it.
	locate func(p folderPath, f *Folder) (place, bool)
	// identify says what a file holds; nil for the grammars of file names.
	identify func(f *File) identity
	// finish reads the side files of the folders, once all files are listed; nil
	// for a producer without any.
	finish func(r *reader, folders []*Folder)
}

// producers are asked in this order who wrote a folder; the last one takes all.
var producers = [...]producer{msprobeProducer, atbProducer, mindsporeProducer, hpaaProducer, cannProducer, arraysProducer}

// folderPath are the folders of a path, the outermost first.
type folderPath []filename.Folder

// parsePath takes a path with slashes apart; . has no folders.
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

// at returns a folder, the zero value beyond the ends.
func (p folderPath) at(i int) filename.Folder {
	if i < 0 || i >= len(p) {
		return filename.Folder{}
	}
	return p[i]
}

// last returns the index of the last folder of a kind, -1 if there is none.
func (p folderPath) last(kind filename.FolderKind) int {
	for i, folder := range slices.Backward(p) {
		if folder.Kind == kind {
			return i
		}
	}
	return -1
}

// join returns folders with slashes between them.
func (p folderPath) join() string {
	names := make([]string, len(p))
	for i, f := range p {
		names[i] = f.Name
	}
	return path.Join(names...)
}

// place is what a path stands for.
type place struct {
	at Coordinates
	// start is the time at which the dump began, empty when unknown.
	start string
	// op is the operator that folders below those of the round name.
	op string
	// side is set for folders of side files.
	side bool
}

// identity is what a file holds.
type identity struct {
	role       Role
	op, opType string
	kind       tensor.Kind // empty for all tensors of the file
	index      int
	slice      string
	timestamp  uint64
	task       uint64
	hasTask    bool
	device     string // that the file's name has
	ids        []uint64
	source     string // that it was converted from, empty for none
	raw        bool   // elements without a header, of which the name does not say what they are
	mayBeNamed bool   // the first bytes may be those of a file that names its tensors
}

// sideNames end the names of files that hold no tensors, in lower case.
var sideNames = []string{".csv", ".file", ".htm", ".html", ".ir", ".json", ".log", ".md", ".pbtxt", ".png", ".py", ".sh", ".svg", ".xml", ".yaml", ".yml"}

// identifyByName says what a file holds by the grammars of file names.
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
	if n.Grammar == filename.Plain && strings.Contains(n.Stem, ".parameters") { // a copy of a tensor of msprobe
		if id := cutMSProbe(n.Stem); id.kind != tensor.Output {
			return id
		}
	}
	id := dumpIdentity(&n)
	id.source, id.raw = n.Source, c.Headless && n.Grammar != filename.Sync
	id.mayBeNamed = id.raw && n.DType == tensor.Undefined
	if n.Grammar == filename.Sync && !isOperator(n.OpName) {
		id.opType = parameterType
	}
	if c.Lone {
		id.kind, id.index = n.Kind, n.Index
		if id.kind == "" {
			id.kind = tensor.Output
		}
	}
	return id
}

// dumpIdentity is what the name of a dump, or of a file that was converted from
// one, says.
func dumpIdentity(n *filename.Info) identity {
	id := identity{role: Tensors, op: n.OpName, opType: n.OpType, slice: n.Slice, timestamp: n.Timestamp, device: deviceOf(n)}
	if n.HasDump {
		id.task, id.hasTask = n.Dump.TaskID, true
	}
	return id
}

// isOperator reports whether a name of MindSpore's oldest synchronous dumps is that
// of an operator, as Default/network/ReLU-op526, and not of a parameter or constant.
func isOperator(name string) bool { return strings.Contains(name, "-op") }

func deviceOf(n *filename.Info) string {
	if !n.HasDump || !n.Dump.HasDevice {
		return ""
	}
	return strconv.FormatUint(n.Dump.DeviceID, 10)
}

// Arrays and other files that no known producer wrote, or that were taken out of
// its folders. Folders named after ranks and steps count as such; what other ones
// stand for is not known.
var arraysProducer = producer{name: Arrays, locate: func(p folderPath, _ *Folder) (place, bool) { return locateAny(p), true }}

// locateAny reads folders such as rank_0, device_0, step_0, step0 and iteration_0,
// in any order.
func locateAny(p folderPath) place {
	var at place
	var rest folderPath
	for _, folder := range p {
		switch folder.Kind {
		case filename.RankFolder:
			at.at.Rank = number(folder.Value)
		case filename.DeviceFolder:
			if at.at.Rank == "" {
				at.at.Rank = number(folder.Value)
			}
		case filename.StepFolder, filename.IterationFolder:
			at.at.Step = number(folder.Value)
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
	Version string // empty where the file says none
	File    string // the name of the file that says it
}

// rankSoftware is software of the rounds of a rank, of all where that is empty.
type rankSoftware struct {
	rank string
	Software
}

// configName is what MindSpore says of itself, in a folder of its settings:
// {"device_target": "Ascend", "ms_version": "1.8.1"}.
const configName = "config.json"

// versionLength is as much as is taken of a version: it comes from a file and may be anything.
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
		r.run.problem(BadSide, file.Path(), file.Folder.At, err)
		return
	}
	if version != "" {
		r.software = append(r.software, rankSoftware{file.Folder.At.Rank, Software{"mindspore", jsonpos.Shorten(version, versionLength), file.Name}})
	}
}

// attachSoftware gives a round what files say of who made its dumps: those of its rank,
// and dump.json of msprobe.
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
