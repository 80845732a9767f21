package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/compare"
	"dumptool/internal/compare/pairing"
	"dumptool/internal/safefile"
	"dumptool/internal/tensor"
)

// memoryPath is the environment variable with the folder of HPAA's data.
const memoryPath = "DUMP_MEMORY_PATH"

// The files of HPAA beside the results.
const (
	opConfigName  = "op_config.csv"
	runtimeName   = "node_runtime.file"
	consumersName = "consumer_map_dict.file"
)

// getenv returns a variable of the environment, empty where it is not set.
func (a *app) getenv(name string) string {
	if a.settings.LookupEnv == nil {
		return ""
	}
	value, _ := a.settings.LookupEnv(name)
	return value
}

// comparePaths finds the two sides: the flags, then the arguments, then the
// folders of HPAA, whose result folder is also that of the reports.
func (a *app) comparePaths(cpu, npu, out *string, args []string) error {
	given := len(args)
	for _, side := range []*string{cpu, npu} {
		if *side == "" && len(args) > 0 {
			*side, args = args[0], args[1:]
		}
	}
	if len(args) > 0 {
		return usagef("unexpected argument %q: both sides are given", args[0])
	}
	root := a.getenv(memoryPath)
	if root != "" && given == 0 && (*cpu == "" || *npu == "") {
		for name, path := range map[string]*string{"cpu": cpu, "npu": npu, "result": out} {
			if *path == "" {
				*path = filepath.Join(root, name)
			}
		}
	}
	switch {
	case *cpu == "" && *npu == "":
		return usagef("no paths given: --cpu PATH and --npu PATH are needed, or $%s", memoryPath)
	case *cpu == "":
		return usagef("no reference given: --cpu PATH is needed")
	case *npu == "":
		return usagef("no NPU data given: --npu PATH is needed")
	}
	for _, path := range []string{*cpu, *npu} {
		if err := exists(path); err != nil {
			return err
		}
	}
	return nil
}

// checkFolder refuses a folder of results that is the one of a side.
func checkFolder(out, cpu, npu string) error {
	switch {
	case out == "":
		return nil
	case safefile.SameFile(out, cpu):
		return usagef("-out %s: that is the folder of --cpu, want one of its own", out)
	case safefile.SameFile(out, npu):
		return usagef("-out %s: that is the folder of --npu, want one of its own", out)
	}
	return nil
}

// exists checks that there is a file or folder.
func exists(path string) error {
	if _, err := os.Stat(path); err != nil {
		return incompletef("%s", withPath(path, err))
	}
	return nil
}

// sideFile reads one of the small files beside the tensors.
func sideFile[T any](path string, read func(io.Reader) (T, error)) (T, error) {
	var none T
	f, err := os.Open(path)
	if err != nil {
		return none, err
	}
	defer f.Close()
	value, err := read(f)
	if err != nil {
		return none, errors.New(withPath(path, err))
	}
	return value, nil
}

// implied reads a file that may lie in the folder of the results: the one that
// was asked for, or the one there. missing is set when there is none.
func implied[T any](asked, dir, name string, read func(io.Reader) (T, error)) (value T, path string, err error) {
	path = asked
	if path == "" {
		if dir == "" {
			return value, "", nil
		}
		path = filepath.Join(dir, name)
	}
	value, err = sideFile(path, read)
	if asked == "" && errors.Is(err, fs.ErrNotExist) {
		return value, "", nil
	}
	return value, path, err
}

// flagError says which flag named the file that an error is about: exit status 2.
func flagError(flag, path string, err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	var system *fs.PathError
	if errors.As(err, &system) && system.Path == path {
		text = path + ": " + system.Err.Error()
	}
	if !strings.HasPrefix(text, path+": ") {
		text = path + ": " + text
	}
	return configError(&fileError{flag + ": " + text, err})
}

// fileError is an error with another text.
type fileError struct {
	text string
	err  error
}

func (e *fileError) Error() string { return e.text }
func (e *fileError) Unwrap() error { return e.err }

// configError is an error of a file that the user gave: exit status 2.
func configError(err error) error { return &codedError{exitUsage, err} }

// load reads the files of limits.
func (o *judgeFlags) load(out string) (*pairing.OpConfig, error) {
	config, path, err := implied(o.opConfig, out, opConfigName, pairing.ReadOpConfig)
	switch {
	case err != nil && o.opConfig != "":
		return nil, flagError("--op-config", path, err)
	case err != nil:
		return nil, configError(err)
	case path == "":
		return nil, nil
	}
	for _, e := range config.Entries {
		if e.Mode != "" {
			return nil, configError(fmt.Errorf("%s: line %d: mode %q of %s is not known, want an empty one", path, e.Line, e.Mode, e.Name))
		}
	}
	return config, nil
}

// resolve reads the names that the flags tell.
func (o *pairFlags) resolve(opt *compare.PairOptions) error {
	opt.Inputs = o.inputs
	text := o.nameMap
	if file, ok := strings.CutPrefix(text, "@"); ok {
		data, err := os.ReadFile(file)
		if err != nil {
			return flagError("--map-node-dict", file, err)
		}
		text = string(data)
	}
	if text != "" {
		m, err := pairing.ParseNameMap(text)
		if err != nil {
			return configError(fmt.Errorf("--map-node-dict: %w", err))
		}
		opt.Map = m
	}
	if o.fusion != "" {
		f, err := sideFile(o.fusion, pairing.ReadFusion)
		if err != nil {
			return flagError("--fusion", o.fusion, err)
		}
		opt.Fusion = f
	}
	var err error
	if opt.SkipKeys, err = pairing.ParseList(o.skipKeys...); err != nil {
		return usagef("--skip-keys: %w", err)
	}
	if opt.Exclude, err = nameSet("--exclude-node-list", o.exclude, nil); err != nil {
		return err
	}
	var listed []string
	if o.opsFrom != "" {
		data, err := os.ReadFile(o.opsFrom)
		if err != nil {
			return flagError("--ops-from", o.opsFrom, err)
		}
		for line := range bytes.Lines(data) {
			if name := strings.TrimSpace(string(line)); name != "" && !strings.HasPrefix(name, "#") {
				listed = append(listed, name)
			}
		}
	}
	if opt.Ops, err = nameSet("--ops", o.ops, listed); err != nil {
		return err
	}
	opt.Rounds, err = parseRounds(o.round)
	return err
}

// nameSet reads lists of names, and adds more; nil for none.
func nameSet(flag string, values, more []string) (*pairing.NameSet, error) {
	if len(values)+len(more) == 0 {
		return nil, nil
	}
	names, err := pairing.ParseList(values...)
	if err != nil {
		return nil, usagef("%s: %w", flag, err)
	}
	set, err := pairing.NewNameSet(append(names, more...))
	if err != nil {
		return nil, usagef("%s: %w", flag, err)
	}
	return set, nil
}

// parseRounds reads which rounds are wanted.
func parseRounds(text string) (compare.Rounds, error) {
	switch strings.ToLower(text) {
	case "all", "":
		return compare.Rounds{}, nil
	case "first":
		return compare.Rounds{First: true}, nil
	case "last":
		return compare.Rounds{Last: true}, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return compare.Rounds{}, usagef("--round %s: want all, first, last or a number from 0", text)
	}
	return compare.Rounds{Number: &n}, nil
}

var permForm = regexp.MustCompile(`^[0-9]+(,[0-9]+)*$`)

// resolve checks the flags about shapes.
func (o *shapeFlags) resolve(opt *compare.ShapeOptions) error {
	*opt = compare.ShapeOptions{
		Force: o.force, CropPadding: o.crop, AutoLayout: o.auto, MaxElements: o.maxElements, StrictDType: o.strictDType,
		Transpose: map[string][]int{},
	}
	if o.maxElements < 0 {
		return usagef("--max-elems %d: want a number from 1, or 0 for all", o.maxElements)
	}
	for _, t := range o.transpose {
		i := strings.LastIndexByte(t, '=')
		if i < 1 || !permForm.MatchString(strings.Trim(t[i+1:], "()[] ")) {
			return usagef("--transpose %s: want OP=PERM, such as conv1=0,3,1,2", t)
		}
		var perm []int
		for _, part := range strings.Split(strings.Trim(t[i+1:], "()[] "), ",") {
			axis, err := strconv.Atoi(part)
			if err != nil {
				return usagef("--transpose %s: %w", t, err)
			}
			perm = append(perm, axis)
		}
		for axis := range perm {
			if !slices.Contains(perm, axis) {
				return usagef("--transpose %s: axis %d is missing, want each of 0 to %d once", t, axis, len(perm)-1)
			}
		}
		opt.Transpose[t[:i]] = perm
	}
	var err error
	if opt.RefDType, err = parseDType("--ref-dtype", o.refDType); err != nil {
		return err
	}
	if opt.NPUDType, err = parseDType("--bin-dtype", o.binDType); err != nil {
		return err
	}
	if opt.RefFormat, err = parseFormat("--ref-format", o.refFormat); err != nil {
		return err
	}
	opt.OriginalFormat, err = parseFormat("--original-format", o.originalFormat)
	return err
}

// shortTypes are other names of element types.
var shortTypes = map[string]tensor.DType{
	"fp16": tensor.Float16, "half": tensor.Float16, "bf16": tensor.BFloat16, "fp32": tensor.Float32, "float": tensor.Float32,
	"fp64": tensor.Float64, "double": tensor.Float64,
}

// parseDType reads the name of an element type; Undefined for none.
func parseDType(flag, name string) (tensor.DType, error) {
	if name == "" {
		return tensor.Undefined, nil
	}
	d, ok := shortTypes[strings.ToLower(name)]
	if !ok {
		d, ok = tensor.ParseDType(name)
	}
	if _, err := tensor.NewDecoder(d); !ok || err != nil {
		return tensor.Undefined, usagef("%s %s: want an element type, such as float16, bfloat16, float32 or int8", flag, name)
	}
	return d, nil
}

// sideProblem is a file beside the tensors that could not be used. asked is set
// when the user named it.
type sideProblem struct {
	err   error
	asked bool
}

// load reads the files about the execution order. One that nobody asked for,
// but lies beside the results, or one that only serves the diagnosis, is no
// reason not to compare: its error is returned as a problem.
func (o *orderFlags) load(opt *compare.Options, fusionFile, out string) (problems []sideProblem, err error) {
	by, err := oneOf("--order", o.order, orders)
	if err != nil {
		return nil, err
	}
	switch by {
	case "auto":
		// A file that the user gave and that knows no operator is a mistake.
		if o.runtimeFile != "" {
			opt.Order.By = pairing.ByRuntime
		} else if o.orderFile != "" {
			opt.Order.By = pairing.ByExecution
		}
	case "csv":
		opt.Order.By = pairing.ByExecution
	default:
		opt.Order.By = pairing.OrderBy(by)
	}
	src := &opt.Order.Sources
	src.Fusion, src.FusionFile, opt.Order.FusionFile = opt.Pair.Fusion, fusionFile, fusionFile
	runtime, path, err := implied(o.runtimeFile, out, runtimeName, func(r io.Reader) (*pairing.NodeOrder, error) {
		file := o.runtimeFile
		if file == "" {
			file = filepath.Join(out, runtimeName)
		}
		return pairing.ReadRuntime(r, filepath.ToSlash(file))
	})
	switch {
	case err != nil && o.runtimeFile != "":
		return nil, flagError("--node-runtime-filename", o.runtimeFile, err)
	case err != nil:
		problems = append(problems, sideProblem{err, false})
	case path != "":
		src.Runtime = runtime
	}
	if o.orderFile != "" {
		src.Execution, err = sideFile(o.orderFile, func(r io.Reader) (*pairing.NodeOrder, error) {
			return pairing.ReadExecutionOrder(r, filepath.ToSlash(o.orderFile))
		})
		if err != nil {
			return nil, flagError("--order-file", o.orderFile, err)
		}
	}
	switch {
	case by == "runtime" && src.Runtime == nil:
		return nil, usagef("--order runtime needs --node-runtime-filename FILE")
	case by == "csv" && src.Execution == nil:
		return nil, usagef("--order csv needs --order-file FILE")
	case by == "fusion" && src.Fusion == nil:
		return nil, usagef("--order fusion needs --fusion FILE")
	}
	consumers, path, err := implied(o.consumers, out, consumersName, pairing.ReadConsumers)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, flagError("--consumer-map", o.consumers, err)
	case err != nil && o.consumers != "":
		problems = append(problems, sideProblem{flagError("--consumer-map", o.consumers, err), true})
	case err != nil:
		problems = append(problems, sideProblem{err, false})
	case path != "":
		opt.Order.Consumers, opt.Order.ConsumersFile = consumers, filepath.ToSlash(path)
	}
	return problems, nil
}
