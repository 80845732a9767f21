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

var aclRoot = keyTable{where: Text{EN: "the top level", ZH: "顶层"}, open: true, keys: []Key{
	{Name: "dump", Type: TypeObject, Since: firstVersion, rule: "ACL005"},
}}

var aclDump = keyTable{where: Text{EN: `"dump"`, ZH: ` "dump" `}, keys: []Key{
	{Name: "dump_path", Type: TypeString, Since: firstVersion, rule: "ACL010"},
	{Name: "dump_list", Type: TypeObjects, Since: firstVersion, rule: "ACL011"},
	{Name: "dump_mode", Type: TypeString, Values: []string{"input", "output", "all"}, Since: firstVersion, rule: "ACL010"},
	{Name: "dump_op_switch", Type: TypeString, Values: onOff, Since: firstVersion, rule: "ACL010"},
	{Name: "dump_debug", Type: TypeString, Values: onOff, Since: sinceCANN62, rule: "ACL010"},
	{Name: "dump_step", Type: TypeString, Since: sinceCANN70, rule: "ACL010"},
	{Name: "dump_data", Type: TypeString, Values: []string{"tensor", "stats"}, Since: sinceCANN70, rule: "ACL010"},
	{Name: "dump_scene", Type: TypeString, Values: append(exceptionScenes[:4:4], watcherScene), Since: sinceCANN81, rule: "ACL010"},
	{Name: "dump_level", Type: TypeString, Values: []string{"op", "kernel", "all"}, Since: sinceCANN83, rule: "ACL010"},
	{Name: "dump_stats", Type: TypeStrings, Since: sinceCANN82, rule: "ACL011",
		Values: []string{"Max", "Min", "Avg", "Nan", "Negative Inf", "Positive Inf", "L2norm"}},
	{Name: "dump_kernel_data", Type: TypeString, Since: sinceCANN85, rule: "ACL010"},
}}

// kernelData are the parts of dump_kernel_data.
var kernelData = []string{"all", "printf", "tensor", "assert", "timestamp"}

var aclItem = keyTable{where: Text{EN: `an item of "dump_list"`, ZH: ` "dump_list" 的项`}, keys: []Key{
	{Name: "model_name", Type: TypeString, Since: firstVersion, rule: "ACL010"},
	{Name: "layer", Type: TypeStrings, Since: firstVersion, rule: "ACL011"},
	{Name: "watcher_nodes", Type: TypeStrings, Since: Version{Major: 8, Candidate: 3}, rule: "ACL011"},
	{Name: "optype_blacklist", Type: TypeObjects, Since: sinceCANN82, rule: "ACL011"},
	{Name: "opname_blacklist", Type: TypeObjects, Since: sinceCANN82, rule: "ACL011"},
	{Name: "opname_range", Type: TypeObjects, Since: sinceCANN82, rule: "ACL011"},
}}

var aclBlacklist = keyTable{where: Text{EN: "an entry of a blacklist", ZH: "黑名单项"}, keys: []Key{
	{Name: "name", Type: TypeString, Since: sinceCANN82, rule: "ACL010"},
	{Name: "pos", Type: TypeStrings, Since: sinceCANN82, rule: "ACL011"},
}}

var aclRange = keyTable{where: Text{EN: `an entry of "opname_range"`, ZH: ` "opname_range" 的项`}, keys: []Key{
	{Name: "begin", Type: TypeString, Since: sinceCANN82, rule: "ACL010"},
	{Name: "end", Type: TypeString, Since: sinceCANN82, rule: "ACL010"},
}}
