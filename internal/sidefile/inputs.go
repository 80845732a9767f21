// Package sidefile reads and writes the small files beside the dumps of a run: execution orders,
// limits of operators and name maps. Each file is read whole, up to a maximum size. Errors give the
// place, the value found and the value wanted; the caller adds the name of the file.
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

// Files of the HPAA tools beside the results of a run.
const (
	OpConfigName  = "op_config.csv"
	RuntimeName   = "node_runtime.file"
	ConsumersName = "consumer_map_dict.file"
)

// Role is the purpose of a file.
type Role int

// Values of Role.
const (
	OpConfigFile  Role = iota + 1 // limits of operators
	NameMapFile                   // pairs of operators of the NPU and the reference
	FusionFile                    // the graph of the NPU's compiler
	OpsFile                       // names of the operators to compare
	RuntimeFile                   // times of operators
	ExecutionFile                 // execution order of operators
	ConsumersFile                 // consumers of operators
	BaselineFile                  // results of an earlier run
	SkipLogFile                   // reasons why tensors of the NPU are missing
	IRFile                        // graphs of MindSpore
	RowsFile                      // rows of both sides that belong to the same token
)

// flags are the flags that name the files.
var flags = [...]string{
	OpConfigFile: "--op-config", NameMapFile: "--map-node-dict", FusionFile: "--fusion", OpsFile: "--ops-from",
	RuntimeFile: "--node-runtime-filename", ExecutionFile: "--order-file", ConsumersFile: "--consumer-map", BaselineFile: "--baseline",
	SkipLogFile: "--result", IRFile: "--ir", RowsFile: "--match-rows",
}

// Files are the paths of the side files of a comparison; empty for none.
type Files struct {
	OpConfig, Fusion, Ops, Runtime, Execution, Consumers string
	// NameMap is a map in text, or its path, with or without @ before it.
	NameMap string
	// Rows is the path of pairs of rows, RowsAuto, or RowsOff or empty for none.
	Rows string
	// Logs is a folder with logs about tensors that the NPU lacks.
	Logs string
	// Folder, unless empty, is searched for missing files under HPAA's names. In its logs only
	// lines of imports count.
	Folder string
	// OrderFolder, unless empty, is the folder of the run's node_runtime.file. Without a consumer map
	// in Folder, the map beside this file is read.
	OrderFolder string
	// Attributes keeps the attributes of operators in a compiler graph.
	Attributes bool
}

// Inputs are the contents of side files, nil or empty for missing files.
type Inputs struct {
	OpConfig           *OpConfig
	NameMap            *NameMap
	Fusion, Consumers  *graph.Graph
	Ops                []string
	Runtime, Execution *Order
	// Rows lists the pairs of rows to compare, nil if all rows are compared.
	Rows *RowMap
	// Skipped are the lines of logs about tensors without an array of the NPU, Kept the lines that
	// imports wrote to logs in Folder.
	Skipped, Kept []SkipLine
	// Problems are the errors of files that a comparison can do without: files that the user did
	// not name, and files that only serve the diagnosis.
	Problems []*FileError
}

// FileError is the error of a side file.
type FileError struct {
	Role Role
	// Path is empty for a name map in text.
	Path string
	// Given: the user named the file.
	Given bool
	Err   error
}

// Error returns the flag of the file, its path and the error.
func (e *FileError) Error() string { return e.Text().String() }

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

// Unwrap returns the underlying error.
func (e *FileError) Unwrap() error { return e.Err }

// Load reads the files. The error is a *FileError.
func (f *Files) Load() (*Inputs, error) {
	in, rows := &Inputs{}, f.Rows
	switch rows {
	case RowsAuto:
		in.Rows = &RowMap{}
		fallthrough
	case RowsOff:
		rows = ""
	}
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
		{RowsFile, rows, "", in.readRows},
	} {
		path, given := file.path, file.path != ""
		if !given && file.standard != "" && f.Folder != "" {
			path = store.Join(f.Folder, file.standard)
		}
		if file.role == ConsumersFile && !given && f.OrderFolder != "" && !exists(path) {
			path = store.Join(f.OrderFolder, file.standard)
		}
		if path == "" {
			continue
		}
		err := loadFile(path, file.read)
		if err == nil || !given && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		problem := &FileError{file.role, path, given, err}
		if !problem.isDispensable() {
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

func exists(path string) bool {
	if path == "" {
		return false
	}
	_, err := store.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// readSkipLogs reads the logs of tensors without an array: all lines in Logs if given, else the
// lines of imports in Folder. Comparisons write logs with the same names to Folder.
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
		case name == InvalidOutName: // invalid names are not tensors of the reference
		case f.Logs != "":
			in.Skipped = append(in.Skipped, in.readSkipLog(f.Logs, name, true)...)
		default:
			in.Skipped = append(in.Skipped, kept...)
		}
	}
	return nil
}

// readSkipLog reads one log. A missing log has no lines.
func (in *Inputs) readSkipLog(folder, name string, given bool) []SkipLine {
	if folder == "" {
		return nil
	}
	var lines []SkipLine
	path := store.Join(folder, name)
	err := loadFile(path, func(r io.Reader, _ string) (err error) {
		lines, err = ReadSkipLog(r, name)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		in.Problems = append(in.Problems, &FileError{SkipLogFile, path, given, err})
	}
	return lines
}

// mapPath returns the path of a name map, empty for a map in text, which begins with a brace.
func mapPath(text string) string {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return ""
	}
	return strings.TrimPrefix(text, "@")
}

// isDispensable reports whether a comparison can go on without the file.
func (e *FileError) isDispensable() bool {
	switch e.Role {
	case RuntimeFile:
		return !e.Given
	case ConsumersFile:
		return !e.Given || !errors.Is(e.Err, fs.ErrNotExist)
	}
	return false
}

func loadFile(path string, read func(r io.Reader, path string) error) error {
	return safefile.Read(path, func(file safefile.Input) error {
		if err := read(file, filepath.ToSlash(path)); err != nil {
			return explainError(file, err)
		}
		return nil
	})
}

// explainError replaces the error of a reader by the kind of the file if it is neither text nor a
// pickle.
func explainError(file io.ReaderAt, err error) error {
	head := make([]byte, foreign.HeadBytes)
	n, _ := file.ReadAt(head, 0)
	const pickled = "a Python pickle"
	kind := foreign.Identify(head[:n])
	if n == 0 || kind == nil || foreign.IsText(head[:n]) || kind.Name.EN == pickled {
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
			return lang.Errorf("line %d: unknown mode %q of %s, want an empty one", e.Line, e.Mode, e.Name)
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

// roleBeginnings match the beginnings of files with an execution order or data flow, in the order of
// precedence.
var roleBeginnings = []struct {
	role Role
	form func() *regexp.Regexp
}{
	{ConsumersFile, lang.Pattern(`^\(`)},                                                // text pickle
	{ConsumersFile, lang.Pattern(`^\{\s*(?:\}|"(?:[^"\\]|\\.)*"\s*:\s*\[\s*["\]])`)},    // lists of names
	{FusionFile, lang.Pattern(`^\{`)},                                                   // other JSON
	{IRFile, lang.Pattern(`(?m)^(?:# ?IR entry|subgraph |[ \t]*%\d+\()`)},               // MindSpore's text form
	{FusionFile, lang.Pattern(`^(?:#[^\n]*\s+)*[a-z_]+[ \t]*(?:\{|:[ \t]*["\dA-Z_-])`)}, // protobuf text form
	{ExecutionFile, lang.Pattern(`^[^\x00]+$`)},
}

// Recognise returns the role of a file by its contents: an execution order, a consumer map, the
// compiler graph of the NPU, or a graph of MindSpore or a folder of graphs.
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
	if strings.HasPrefix(text, "\x80") || strings.HasPrefix(text, "}q\x00") { // pickle
		return ConsumersFile, nil
	}
	for _, b := range roleBeginnings {
		if b.form().MatchString(text) {
			return b.role, nil
		}
	}
	return 0, lang.Errorf("neither an execution order nor a map of consumers nor a graph")
}

// maxSize is the maximum size of a file, in bytes.
const maxSize = 64 << 20

// readAll reads r and drops a byte order mark.
func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err == nil && len(data) > maxSize {
		err = lang.Errorf("the file is larger than %d MiB", maxSize>>20)
	}
	return bytes.TrimPrefix(data, []byte("\ufeff")), err
}
