package main

// compareGroups are the flags of compare and of the commands below it, those
// that most people need first.
func compareGroups() []flagGroup {
	return []flagGroup{
		{"What is compared", []string{"cpu", "npu", "dump-path", "op", "ops", "ops-from", "result", "skip-keys", "exclude-node-list", "map-node-dict", "fuzzy", "fusion",
			"inputs", "round", "max-elems", "version"}},
		{"Rounds of runs", []string{"rank", "step", "graph", "model",
			"ref-rank", "ref-step", "ref-graph", "ref-model", "npu-rank", "npu-step", "npu-graph", "npu-model"}},
		{"Limits", []string{"verdict", "profile", "atol", "rtol", "op-config", "tol-mode", "nan-policy", "max-error-ratio", "int-tol", "accum",
			"min-cos", "min-sqnr", "max-red", "max-mean-rel", "max-ulp", "noise", "standard", "third", "hf32"}},
		{"Shapes and axis orders", []string{"auto-layout", "transpose", "ref-format", "npu-format", "original-format", "crop-padding", "force-compare", "strict-dtype",
			"ref-dtype", "bin-dtype"}},
		{"Execution order, and which operator feeds which", []string{"order", "node-runtime-filename", "order-file", "consumer-map", "ir", "flow"}},
		{"Reports", []string{"out", "format", "json", "topn", "diff-cnt", "diff-order", "rows", "extra-columns", "hpaa-version", "bom",
			"show-graph", "pictures", "max-bins", "min-bins"}},
		{"Many machines", []string{"shard", "run", "resume", "wait", "missing", "allow-missing"}},
		{"Exit status", []string{"fail-on", "fail-fast", "exit-zero", "require-coverage", "baseline", "update-baseline", "baseline-slack"}},
		{"Other flags", []string{"jobs", helpFlag}},
	}
}
