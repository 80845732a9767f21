package dumpconf

// Keys of MindSpore's dump settings, after its documentation and
// dump_json_parser.

var (
	sinceMS10 = Version{Major: 1}
	sinceMS12 = Version{Major: 1, Minor: 2}
	sinceMS15 = Version{Major: 1, Minor: 5}
	sinceMS16 = Version{Major: 1, Minor: 6}
	sinceMS20 = Version{Major: 2}
	sinceMS23 = Version{Major: 2, Minor: 3}
	sinceMS24 = Version{Major: 2, Minor: 4}
	sinceMS26 = Version{Major: 2, Minor: 6}
)

var mindSporeRoot = keyTable{where: "the top level", keys: []Key{
	{Name: "common_dump_settings", Type: TypeObject, Since: sinceMS10, About: "what to dump, for all modes", rule: "MS001"},
	{Name: "e2e_dump_settings", Type: TypeObject, Since: sinceMS10, About: "dump by the framework itself", rule: "MS001"},
	{Name: "async_dump_settings", Type: TypeObject, Since: sinceMS10, About: "dump by the device, MindSpore 1.0 and 1.1", rule: "MS001"},
}}

var mindSporeCommon = keyTable{where: `"common_dump_settings"`, keys: []Key{
	{Name: "dump_mode", Type: TypeUint, Since: sinceMS10, rule: "MS018",
		About: "0 all operators, 1 those in kernels, 2 those marked by set_dump"},
	{Name: "path", Type: TypeString, Since: sinceMS10, rule: "MS014", Default: "$MS_DIAGNOSTIC_DATA_PATH/debug_dump",
		About: "absolute path of the folder for the dump files"},
	{Name: "net_name", Type: TypeString, Since: sinceMS10, rule: "MS015", About: "name of the network, part of the path"},
	{Name: "iteration", Type: TypeString, Since: sinceMS10, rule: "MS020", About: "steps to dump, such as 0|5-8, or all"},
	{Name: "saved_data", Type: TypeString, Values: []string{"tensor", "statistic", "full"}, Default: "tensor", Since: sinceMS16, rule: "MS024",
		About: "tensors, their statistics or both"},
	{Name: "input_output", Type: TypeUint, Since: sinceMS10, rule: "MS018", About: "0 both, 1 inputs, 2 outputs"},
	{Name: "kernels", Type: TypeStrings, Since: sinceMS10, rule: "MS019", About: "operators to dump when dump_mode is 1"},
	{Name: "support_device", Type: TypeUints, Since: sinceMS10, rule: "MS019", About: "ids of the devices that dump"},
	{Name: "op_debug_mode", Type: TypeUint, Default: "0", Since: sinceMS12, rule: "MS018",
		About: "0 off, 3 operators that overflow, 4 operators that fail"},
	{Name: "file_format", Type: TypeString, Values: []string{"bin", "npy"}, Default: "bin", Since: sinceMS15, rule: "MS029",
		About: "format of the files without e2e_dump_settings"},
	{Name: "overflow_number", Type: TypeUint, Default: "0", Since: sinceMS23, rule: "MS018",
		About: "how many overflows to dump, 0 for all"},
	{Name: "initial_iteration", Type: TypeUint, Default: "0", Since: sinceMS23, rule: "MS018",
		About: "first value of the step counter"},
	{Name: "statistic_category", Type: TypeStrings, Default: "max, min, l2norm", Since: sinceMS23, rule: "MS019",
		About: "which statistics to compute"},
}}

// hostStatistics are the values of statistic_category; those of
// deviceStatistics can also be computed on the device.
var (
	hostStatistics = []string{"max", "min", "avg", "count", "negative zero count", "positive zero count",
		"nan count", "negative inf count", "positive inf count", "zero count", "md5", "l2norm",
		"hash", "hash:sha1", "hash:md5"}
	deviceStatistics = []string{"max", "min", "avg", "l2norm"}
)

var mindSporeE2E = keyTable{where: `"e2e_dump_settings"`, keys: []Key{
	{Name: "enable", Type: TypeBool, Default: "false", Since: sinceMS10, rule: "MS050", About: "synchronous dump"},
	{Name: "trans_flag", Type: TypeBool, Default: "true", Since: sinceMS10, rule: "MS050", About: "convert to the host's NCHW layout"},
	{Name: "stat_calc_mode", Type: TypeString, Values: []string{"host", "device"}, Default: "host", Since: sinceMS23, rule: "MS052",
		About: "where statistics are computed"},
	{Name: "device_stat_precision_mode", Type: TypeString, Values: []string{"high", "low"}, Default: "high", Since: sinceMS24, rule: "MS052",
		About: "precision of statistics on the device"},
	{Name: "sample_mode", Type: TypeUint, Default: "0", Since: sinceMS23, rule: "MS018", About: "1 saves head and tail only"},
	{Name: "sample_num", Type: TypeUint, Default: "100", Since: sinceMS23, rule: "MS018", About: "how many elements to save"},
	{Name: "save_kernel_args", Type: TypeBool, Default: "false", Since: sinceMS23, rule: "MS050", About: "save the attributes of operators"},
}}

var mindSporeAsync = keyTable{where: `"async_dump_settings"`, keys: []Key{
	{Name: "enable", Type: TypeBool, Since: sinceMS10, rule: "MS050", About: "asynchronous dump"},
	{Name: "op_debug_mode", Type: TypeUint, Since: sinceMS10, rule: "MS018", About: "0 off, 1 to 3 operators that overflow"},
}}
