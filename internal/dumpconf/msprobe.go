package dumpconf

import "dumptool/internal/jsonpos"

// Msprobe is the config.json of msprobe, of which only what users get wrong is
// read: msprobe reads the file itself, and writes the acl.json that it needs.
type Msprobe struct {
	Root                  Object
	Task, Level, DumpPath Setting[string]
	// Rank and Step are lists of numbers and of ranges in strings, as they stand.
	Rank, Step Setting[struct{}]
	// Tasks are the settings of tasks.
	Tasks []Object
}

// msprobeTasks are the tasks of msprobe, msprobeLevels what it dumps: modules, API
// calls, kernels, or modules and calls.
var (
	msprobeTasks = []string{"statistics", "tensor", "acc_check", "run_ut", "overflow_check", "free_benchmark", "grad_probe", "structure",
		"exception_dump"}
	msprobeLevels = []string{"L0", "L1", "L2", "mix", "debug"}
)

// The keys of the file, after the documentation of msprobe. The settings of every
// task have one table, because releases moved keys from one to another.
var (
	msprobeRoot = keyTable{where: Text{EN: "the top level", ZH: "顶层"}, keys: append([]Key{
		{Name: "task", Type: TypeString, Values: msprobeTasks, rule: "MP001"},
		{Name: "level", Type: TypeString, Values: msprobeLevels, rule: "MP002"},
		{Name: "dump_path", Type: TypeString, rule: "MP006"},
	}, named("rank", "step", "enable_dataloader", "async_dump", "precision", "acl_config", "extra_info", "seed", "is_deterministic",
		"bench_path", "dump_enable", "consistent_check", "risk_level",
		"statistics", "tensor", "acc_check", "run_ut", "overflow_check", "free_benchmark", "grad_probe", "structure", "exception_dump")...)}
	msprobeTask = keyTable{where: Text{EN: "the settings of a task", ZH: "任务配置"}, keys: named("scope", "list", "tensor_list", "data_mode", "backward_input", "file_format",
		"summary_mode", "device", "overflow_nums", "check_mode", "white_list", "black_list", "error_data_path", "is_online", "online_run_ut",
		"online_run_ut_recompute", "nfs_path", "host", "port", "rank_list", "tls_path", "is_benchmark_log", "grad_level", "param_list", "bounds",
		"fuzz_device", "pert_mode", "handler_type", "fuzz_level", "fuzz_stage", "if_preheat", "preheat_step", "max_sample")}
)

// named are keys of which the values are not checked.
func named(names ...string) []Key {
	keys := make([]Key, len(names))
	for i, name := range names {
		keys[i].Name = name
	}
	return keys
}

func readMsprobe(d *decoder, root *jsonpos.Value) *Msprobe {
	m := &Msprobe{Root: Object{Node: root, table: &msprobeRoot}}
	if root == nil || root.Kind != jsonpos.Object {
		m.Root.Node = nil
		return m
	}
	d.keys(m.Root)
	m.Task, m.Level, m.DumpPath = d.str(m.Root, "task"), d.str(m.Root, "level"), d.str(m.Root, "dump_path")
	m.Rank, m.Step = lookup[struct{}](m.Root, "rank"), lookup[struct{}](m.Root, "step")
	for _, task := range msprobeTasks {
		if s := lookup[struct{}](m.Root, task); s.Present() && s.Node.Kind == jsonpos.Object {
			o := Object{Path: s.Path, Key: s.Key, Node: s.Node, table: &msprobeTask}
			d.keys(o)
			m.Tasks = append(m.Tasks, o)
		}
	}
	return m
}
