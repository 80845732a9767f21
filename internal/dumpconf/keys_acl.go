package dumpconf

// Keys of acl.json, after the dump chapter of the CANN documentation and the
// converter of the CANN runtime.

var onOff = []string{"on", "off"}

// exceptionScenes are the values of dump_scene that dump failing operators.
var exceptionScenes = []string{"lite_exception", "aic_err_brief_dump", "aic_err_norm_dump", "aic_err_detail_dump"}

const watcherScene = "watcher"

var (
	sinceCANN62  = Version{Major: 6, Minor: 2}
	sinceCANN70  = Version{Major: 7}
	sinceCANN81  = Version{Major: 8, Candidate: 1}
	sinceCANN83  = Version{Major: 8, Candidate: 3}
	sinceCANN82  = Version{Major: 8, Minor: 2}
	sinceCANN85  = Version{Major: 8, Minor: 5}
	firstVersion = Version{Major: 1}
)

var aclRoot = keyTable{where: "the top level", open: true, keys: []Key{
	{Name: "dump", Type: TypeObject, Since: firstVersion, About: "what to dump", rule: "ACL005"},
}}

var aclDump = keyTable{where: `"dump"`, keys: []Key{
	{Name: "dump_path", Type: TypeString, Since: firstVersion, rule: "ACL010",
		About: "existing folder for the dump files, or IPv4:path"},
	{Name: "dump_list", Type: TypeObjects, Since: firstVersion, rule: "ACL011",
		About: "models and operators to dump; [{}] means all"},
	{Name: "dump_mode", Type: TypeString, Values: []string{"input", "output", "all"}, Default: "output", Since: firstVersion, rule: "ACL010",
		About: "inputs, outputs or both"},
	{Name: "dump_op_switch", Type: TypeString, Values: onOff, Default: "off", Since: firstVersion, rule: "ACL010",
		About: "dump operators that are called one by one"},
	{Name: "dump_debug", Type: TypeString, Values: onOff, Default: "off", Since: sinceCANN62, rule: "ACL010",
		About: "dump operators that overflow"},
	{Name: "dump_step", Type: TypeString, Default: "all steps", Since: sinceCANN70, rule: "ACL010",
		About: "steps to dump, such as 0|3-5|10, counted from 0"},
	{Name: "dump_data", Type: TypeString, Values: []string{"tensor", "stats"}, Default: "tensor", Since: sinceCANN70, rule: "ACL010",
		About: "whole tensors or their statistics"},
	{Name: "dump_scene", Type: TypeString, Values: append(exceptionScenes[:4:4], watcherScene), Since: sinceCANN81, rule: "ACL010",
		About: "dump failing operators, or watch memory"},
	{Name: "dump_level", Type: TypeString, Values: []string{"op", "kernel", "all"}, Default: "all", Since: sinceCANN83, rule: "ACL010",
		About: "operators of the graph, aclnn kernels or both"},
	{Name: "dump_stats", Type: TypeStrings, Since: sinceCANN82, Default: "all except L2norm", rule: "ACL011",
		Values: []string{"Max", "Min", "Avg", "Nan", "Negative Inf", "Positive Inf", "L2norm"},
		About:  "which statistics to compute"},
	{Name: "dump_kernel_data", Type: TypeString, Since: sinceCANN85, Default: "all", rule: "ACL010",
		About: "what Ascend C kernels print: a comma list of all, printf, tensor, assert, timestamp"},
}}

// kernelData are the parts of dump_kernel_data.
var kernelData = []string{"all", "printf", "tensor", "assert", "timestamp"}

var aclItem = keyTable{where: `an item of "dump_list"`, keys: []Key{
	{Name: "model_name", Type: TypeString, Since: firstVersion, rule: "ACL010", Default: "every model",
		About: "name of the model: the OM file's without suffix, or the one ATC wrote"},
	{Name: "layer", Type: TypeStrings, Since: firstVersion, rule: "ACL011", Default: "all operators",
		About: "names of the operators to dump"},
	{Name: "watcher_nodes", Type: TypeStrings, Since: Version{Major: 8, Candidate: 3}, rule: "ACL011",
		About: "operators whose outputs are watched"},
	{Name: "optype_blacklist", Type: TypeObjects, Since: sinceCANN82, rule: "ACL011",
		About: "operator types that are not dumped"},
	{Name: "opname_blacklist", Type: TypeObjects, Since: sinceCANN82, rule: "ACL011",
		About: "operators that are not dumped"},
	{Name: "opname_range", Type: TypeObjects, Since: sinceCANN82, rule: "ACL011",
		About: "first and last operator to dump, in execution order"},
}}

var aclBlacklist = keyTable{where: "an entry of a blacklist", keys: []Key{
	{Name: "name", Type: TypeString, Since: sinceCANN82, rule: "ACL010", About: "operator type or name"},
	{Name: "pos", Type: TypeStrings, Since: sinceCANN82, rule: "ACL011", Default: "the whole operator",
		About: "inputs and outputs, such as input0 and output1"},
}}

var aclRange = keyTable{where: `an entry of "opname_range"`, keys: []Key{
	{Name: "begin", Type: TypeString, Since: sinceCANN82, rule: "ACL010", About: "first operator"},
	{Name: "end", Type: TypeString, Since: sinceCANN82, rule: "ACL010", About: "last operator"},
}}
