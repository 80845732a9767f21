// Package sidefile reads and writes the small files that lie beside the dumps of
// a run: execution orders, limits of operators and maps of names. Each is read
// whole, up to a limit of bytes; errors say where, what was found and what was
// wanted, and leave the name of the file to the caller.
package sidefile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"dumptool/internal/foreign"
	"dumptool/internal/graph"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
)

// The files that the HPAA tools leave beside the results of a run.
const (
	OpConfigName  = "op_config.csv"
	RuntimeName   = "node_runtime.file"
	ConsumersName = "consumer_map_dict.file"
)

// Role says what a file is for.
type Role int

// The roles.
const (
	OpConfigFile  Role = iota + 1 // limits of operators
	NameMapFile                   // which operator of the NPU is which of the reference
	FusionFile                    // the graph of the NPU's compiler
	OpsFile                       // which operators are compared
	RuntimeFile                   // when operators ran
	ExecutionFile                 // the order of operators
	ConsumersFile                 // who reads what operators make
	BaselineFile                  // what an earlier run found
	SkipLogFile                   // why tensors of the NPU are not there
	IRFile                        // graphs of MindSpore
)

// flags are those that name the files.
var flags = [...]string{
	OpConfigFile: "--op-config", NameMapFile: "--map-node-dict", FusionFile: "--fusion", OpsFile: "--ops-from",
	RuntimeFile: "--node-runtime-filename", ExecutionFile: "--order-file", ConsumersFile: "--consumer-map", BaselineFile: "--baseline",
	SkipLogFile: "--result", IRFile: "--ir",
}

// Files are the paths of the side files of a comparison; empty ones were not
// given.
type Files struct {
	OpConfig, Fusion, Ops, Runtime, Execution, Consumers string
	// NameMap is a map itself, or its path, with @ before it or without.
	NameMap string
	// Logs is a folder with the logs of the tensors that the NPU lacks.
	Logs string
	// Folder, unless empty, is searched for files under HPAA's names that were
	// not given. Of logs there the lines of imports count.
	Folder string
	// Attributes keeps those of the operators of a graph of the compiler.
	Attributes bool
}

// Inputs is what side files say, nil or empty for those that are not there.
type Inputs struct {
	OpConfig           *OpConfig
	NameMap            *NameMap
	Fusion, Consumers  *graph.Graph
	Ops                []string
	Runtime, Execution *Order
	// Skipped are the lines of logs about tensors that have no array of the NPU, Kept
	// those of imports in the folder that was searched.
	Skipped, Kept []SkipLine
	// Problems are files that could not be used and that a comparison can do
	// without: those that nobody gave, and those that only serve the diagnosis.
	Problems []*FileError
}

// FileError is the error of a side file.
type FileError struct {
	Role Role
	// Path is empty for a name map that is no file.
	Path string
	// Given is set if the user named the file.
	Given bool
	Err   error
}

// Error returns the flag that named the file, its path and what is wrong.
func (e *FileError) Error() string { return e.Text().EN }

// Text is the error in both languages.
func (e *FileError) Text() lang.Text {
	text := lang.Error(e.Err)
	var system *fs.PathError
	var remote *store.Error
	switch {
	case errors.As(e.Err, &system) && system.Path == e.Path:
		text = lang.Error(system.Err)
	case errors.As(e.Err, &remote) && remote.Path == e.Path:
		text = lang.Error(remote.Err)
	}
	if e.Path != "" {
		text = lang.Say("%s: %s", e.Path, text)
	}
	if e.Given {
		text = lang.Say("%s: %s", flags[e.Role], text)
	}
	return text.Text()
}

// Unwrap returns the error of the system or of the reader.
func (e *FileError) Unwrap() error { return e.Err }

// Load reads the files. The error is a *FileError.
func (f *Files) Load() (*Inputs, error) {
	in := &Inputs{}
	for _, file := range []struct {
		role     Role
		path     string
		standard string // HPAA's name, empty for files that are not searched for
		read     func(r io.Reader, path string) error
	}{
		{NameMapFile, mapPath(f.NameMap), "", in.readNameMap},
		{FusionFile, f.Fusion, "", in.readFusion(f.Attributes)},
		{OpsFile, f.Ops, "", in.readOps},
		{OpConfigFile, f.OpConfig, OpConfigName, in.readOpConfig},
		{RuntimeFile, f.Runtime, RuntimeName, in.readRuntime},
		{ExecutionFile, f.Execution, "", in.readExecution},
		{ConsumersFile, f.Consumers, ConsumersName, in.readConsumers},
	} {
		path, given := file.path, file.path != ""
		if !given && file.standard != "" && f.Folder != "" {
			path = store.Join(f.Folder, file.standard)
		}
		if path == "" {
			continue
		}
		err := load(path, file.read)
		if err == nil || !given && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		problem := &FileError{file.role, path, given, err}
		if !problem.dispensable() {
			return nil, problem
		}
		in.Problems = append(in.Problems, problem)
	}
	if f.NameMap != "" && mapPath(f.NameMap) == "" {
		if err := in.readNameMap(strings.NewReader(f.NameMap), ""); err != nil {
			return nil, &FileError{NameMapFile, "", true, err}
		}
	}
	return in, in.readSkipLogs(f)
}

// readSkipLogs reads the logs of tensors that have no array: all lines of those in the
// folder that was given for them, else the lines of imports in the folder of HPAA's
// files. Comparisons write logs of the same names to that.
func (in *Inputs) readSkipLogs(f *Files) error {
	if f.Logs != "" {
		if _, err := store.Stat(f.Logs); err != nil {
			return &FileError{SkipLogFile, f.Logs, true, err}
		}
	}
	for _, name := range []string{CheckSkipName, ConcateSkipName, InvalidOutName} {
		kept := in.readSkipLog(f.Folder, name, false)
		kept = slices.DeleteFunc(kept, func(l SkipLine) bool { return !l.IsImport() })
		in.Kept = append(in.Kept, kept...)
		switch {
		case name == InvalidOutName: // these are no tensors of the reference
		case f.Logs != "":
			in.Skipped = append(in.Skipped, in.readSkipLog(f.Logs, name, true)...)
		default:
			in.Skipped = append(in.Skipped, kept...)
		}
	}
	return nil
}

// readSkipLog reads one of these logs. One that is not there has no lines.
func (in *Inputs) readSkipLog(folder, name string, given bool) []SkipLine {
	if folder == "" {
		return nil
	}
	var lines []SkipLine
	path := store.Join(folder, name)
	err := load(path, func(r io.Reader, _ string) (err error) {
		lines, err = ReadSkipLog(r, name)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		in.Problems = append(in.Problems, &FileError{SkipLogFile, path, given, err})
	}
	return lines
}

// mapPath returns the path of a name map, empty for one that is no file: a map begins with
// a brace.
func mapPath(text string) string {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return ""
	}
	return strings.TrimPrefix(text, "@")
}

// dispensable reports whether a comparison can do without the file.
func (e *FileError) dispensable() bool {
	switch e.Role {
	case RuntimeFile:
		return !e.Given
	case ConsumersFile:
		return !e.Given || !errors.Is(e.Err, fs.ErrNotExist)
	}
	return false
}

func load(path string, read func(r io.Reader, path string) error) error {
	return safefile.Read(path, func(file safefile.Input) error {
		if err := read(file, filepath.ToSlash(path)); err != nil {
			return explain(file, err)
		}
		return nil
	})
}

// explain says what a file is that cannot be read, where its reader cannot say so:
// it is neither text nor a pickle.
func explain(file io.ReaderAt, err error) error {
	head := make([]byte, foreign.HeadBytes)
	n, _ := file.ReadAt(head, 0)
	const pickled = "\x80"
	kind := foreign.Of(head[:n])
	if n == 0 || kind == nil || foreign.IsText(head[:n]) || strings.HasPrefix(string(head[:n]), pickled) {
		return err
	}
	return lang.Errorf("the file is %v", kind)
}

func (in *Inputs) readNameMap(r io.Reader, path string) error {
	text, err := readAll(r)
	switch ext := strings.ToLower(filepath.Ext(path)); {
	case err != nil || len(text) == 0:
	case ext == ".yaml" || ext == ".yml":
		in.NameMap, err = ParseMapping(text)
	default:
		in.NameMap, err = ParseNameMap(string(text))
	}
	return err
}

func (in *Inputs) readFusion(attributes bool) func(r io.Reader, path string) error {
	read := graph.ReadFusion
	if attributes {
		read = graph.ReadFusionAttributes
	}
	return func(r io.Reader, path string) (err error) {
		if in.Fusion, err = read(r); err == nil {
			in.Fusion.Source = "fusion graph " + path
		}
		return err
	}
}

// readOps reads names, one a line; lines that begin with # are comments.
func (in *Inputs) readOps(r io.Reader, _ string) error {
	text, err := readAll(r)
	for line := range bytes.Lines(text) {
		if name := strings.TrimSpace(string(line)); name != "" && !strings.HasPrefix(name, "#") {
			in.Ops = append(in.Ops, name)
		}
	}
	return err
}

func (in *Inputs) readOpConfig(r io.Reader, _ string) error {
	config, err := ReadOpConfig(r)
	if err != nil {
		return err
	}
	for _, e := range config.Entries {
		if e.Mode != "" {
			return lang.Errorf("line %d: mode %q of %s is not known, want an empty one", e.Line, e.Mode, e.Name)
		}
	}
	in.OpConfig = config
	return nil
}

func (in *Inputs) readRuntime(r io.Reader, path string) (err error) {
	in.Runtime, err = ReadRuntime(r, path)
	return err
}

func (in *Inputs) readExecution(r io.Reader, path string) (err error) {
	in.Execution, err = ReadExecutionOrder(r, path)
	return err
}

func (in *Inputs) readConsumers(r io.Reader, path string) (err error) {
	if in.Consumers, err = graph.ReadConsumers(r); err == nil {
		in.Consumers.Source = "consumer map " + path
	}
	return err
}

// beginnings are those of files that say in which order operators ran or who feeds whom.
// The first that fits says what a file is.
var beginnings = []struct {
	role Role
	form func() *regexp.Regexp
}{
	{ConsumersFile, lang.Pattern(`^\(`)},                                                // a pickle of text
	{ConsumersFile, lang.Pattern(`^\{\s*(?:\}|"(?:[^"\\]|\\.)*"\s*:\s*\[\s*["\]])`)},    // lists of names
	{FusionFile, lang.Pattern(`^\{`)},                                                   // other JSON
	{IRFile, lang.Pattern(`(?m)^(?:# ?IR entry|subgraph |[ \t]*%\d+\()`)},               // text of MindSpore
	{FusionFile, lang.Pattern(`^(?:#[^\n]*\s+)*[a-z_]+[ \t]*(?:\{|:[ \t]*["\dA-Z_-])`)}, // text of protobuf
	{ExecutionFile, lang.Pattern(`^[^\x00]+$`)},
}

// Recognise says by the content of a file what it is: an execution order, a map of
// consumers, the graph of the NPU's compiler, or a graph of MindSpore or a folder of them.
func Recognise(path string) (Role, error) {
	info, err := store.Stat(path)
	if err != nil {
		return 0, err
	}
	if info.IsDir() || strings.HasSuffix(path, ".pb") {
		return IRFile, nil
	}
	head := make([]byte, 16<<10)
	err = safefile.Read(path, func(file safefile.Input) error {
		n, err := io.ReadFull(file, head)
		head = head[:n]
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	text := strings.TrimLeft(strings.TrimPrefix(string(head), "\ufeff"), " \t\r\n")
	if strings.HasPrefix(text, "\x80") { // a pickle
		return ConsumersFile, nil
	}
	for _, b := range beginnings {
		if b.form().MatchString(text) {
			return b.role, nil
		}
	}
	return 0, lang.Errorf("neither an execution order nor a map of consumers nor a graph")
}

// maxSize is how large a file may be, in bytes.
const maxSize = 64 << 20

// readAll reads all of r, without a byte order mark.
func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err == nil && len(data) > maxSize {
		err = lang.Errorf("the file is larger than %d MiB", maxSize>>20)
	}
	return bytes.TrimPrefix(data, []byte("\ufeff")), err
}
