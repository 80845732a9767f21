package main

import (
	"errors"
	"fmt"

	"dumptool/internal/safefile"
	"dumptool/internal/sidefile"
	"dumptool/internal/store"
)

// load reads the files of the flags, and those of HPAA in a folder.
func (o *comparison) load(folder string) error {
	o.files.Folder = folder
	if err := o.recognise(); err != nil {
		return err
	}
	if err := o.Load(o.files); err != nil {
		return compareError(err)
	}
	return o.chooseOps()
}

// chooseOps makes a set of the operators that are chosen by flags and files.
func (o *comparison) chooseOps() (err error) {
	o.Pair.Ops, err = readOps(o.ops, o.SideFiles.Ops...)
	return err
}

// recognise finds out what the files of --graph-file are, in whose place other flags stand.
func (o *comparison) recognise() error {
	for _, path := range o.graphFiles {
		role, err := sidefile.Recognise(path)
		if err != nil {
			return configError(fmt.Errorf("--graph-file: %w", safefile.WithPath(path, err)))
		}
		to := map[sidefile.Role]*string{
			sidefile.ExecutionFile: &o.files.Execution, sidefile.ConsumersFile: &o.files.Consumers, sidefile.FusionFile: &o.files.Fusion, sidefile.IRFile: &o.IR,
		}[role]
		if *to != "" {
			return usagef("--graph-file %s: it says the same as %s: want one of them", path, *to)
		}
		*to = path
	}
	return nil
}

// memoryPath is the environment variable with the folder of HPAA's data.
const memoryPath = "DUMP_MEMORY_PATH"

// getenv returns a variable of the environment, empty where it is not set.
func (a *app) getenv(name string) string {
	if a.settings.LookupEnv == nil {
		return ""
	}
	value, _ := a.settings.LookupEnv(name)
	return value
}

// comparePaths finds the two sides: the flags, then the arguments, then the folders of
// HPAA, whose result folder is also that of the reports. That is none of the sides.
func (a *app) comparePaths(o *comparison, out *string, args []string) error {
	args = append(o.paths, args...)
	given := len(args)
	for _, side := range []*string{&o.Ref, &o.NPU} {
		if *side == "" && len(args) > 0 {
			*side, args = args[0], args[1:]
		}
	}
	if len(args) > 0 {
		return usagef("unexpected argument %q: both sides are given", args[0])
	}
	root := a.getenv(memoryPath)
	if root != "" && given == 0 && (o.Ref == "" || o.NPU == "") {
		for name, path := range map[string]*string{"cpu": &o.Ref, "npu": &o.NPU, "result": out} {
			if *path == "" {
				*path = store.Join(root, name)
			}
		}
	}
	switch {
	case o.Ref == "" && o.NPU == "":
		return usagef("no paths given: --cpu PATH and --npu PATH are needed, or $%s", memoryPath)
	case o.Ref == "":
		return usagef("no reference given: --cpu PATH is needed")
	case o.NPU == "":
		return usagef("no NPU data given: --npu PATH is needed")
	}
	for _, path := range []string{o.Ref, o.NPU} {
		if err := exists(path); err != nil {
			return err
		}
	}
	return nil
}

// keepOut leaves a folder of results out of the sides, which it is none of.
func (o *comparison) keepOut(out string) error {
	o.Skip = out
	switch {
	case out == "":
	case safefile.SameFile(out, o.Ref):
		return usagef("-out %s: that is the folder of --cpu, want one of its own", out)
	case safefile.SameFile(out, o.NPU):
		return usagef("-out %s: that is the folder of --npu, want one of its own", out)
	}
	return nil
}

// exists checks that there is a file or folder.
func exists(path string) error {
	var coded *codedError
	if _, err := store.Stat(path); errors.As(err, &coded) {
		return err
	} else if err != nil {
		return incompletef("%w", safefile.WithPath(path, err))
	}
	return nil
}
