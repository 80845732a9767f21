package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"dumptool/internal/compare"
	"dumptool/internal/safefile"
	"dumptool/internal/sidefile"
	"dumptool/internal/store"
)

// comparison are the flags of compare and detail: two sides, and how their tensors are
// compared.
type comparison struct {
	cpu, npu string
	dumps    dumpFlags
	judge    judgeFlags
	pair     pairFlags
	shape    shapeFlags
}

func (o *comparison) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&o.cpu, "cpu", "g", "", "`PATH` of the reference: a file or a folder")
	alias(flags, "cpu", "cpu-dir", "golden")
	flags.StringVarP(&o.npu, "npu", "m", "", "`PATH` of the NPU data: a file or a folder")
	alias(flags, "npu", "npu-dir")
	o.dumps.add(cmd, pathFlag(morePaths), sidesFlag, compareWorkers, containerFlag)
	o.judge.addFlags(cmd)
	o.pair.addFlags(flags)
	o.shape.addFlags(cmd)
}

// compareWorkers is the jobsFlag of comparisons.
var compareWorkers = jobsFlag("`N` workers; default: one per CPU, at most 16")

// resolve turns the flags into options.
func (o *comparison) resolve(opt *compare.Options) error {
	opt.Version, opt.Workers = o.dumps.version, o.dumps.workers
	opt.RefRounds, opt.NPURounds = o.dumps.sides()
	return cmp.Or(o.dumps.check(), o.judge.resolve(opt), o.shape.resolve(opt))
}

// setPaths sets the two sides, and the folder of the results, which is none of them.
func (o *comparison) setPaths(opt *compare.Options, out string) error {
	opt.Ref, opt.NPU, opt.Skip = o.cpu, o.npu, out
	switch {
	case out == "":
		return nil
	case safefile.SameFile(out, o.cpu):
		return usagef("-out %s: that is the folder of --cpu, want one of its own", out)
	case safefile.SameFile(out, o.npu):
		return usagef("-out %s: that is the folder of --npu, want one of its own", out)
	}
	return nil
}

// load reads the files of the flags, and those of HPAA in a folder.
func (o *comparison) load(opt *compare.Options, folder string, others ...func(*sidefile.Files)) error {
	files := sidefile.Files{OpConfig: o.judge.opConfig, Folder: folder}
	o.pair.addFiles(&files)
	for _, add := range others {
		add(&files)
	}
	if err := opt.Load(files); err != nil {
		return compareError(err)
	}
	return o.pair.resolve(opt, o.dumps.ops)
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
				*path = store.Join(root, name)
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

// exists checks that there is a file or folder.
func exists(path string) error {
	if _, err := store.Stat(path); err != nil {
		return incompletef("%w", safefile.WithPath(path, err))
	}
	return nil
}
