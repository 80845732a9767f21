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

var mindSporeRoot = keyTable{where: Text{EN: "the top level", ZH: "顶层"}, keys: []Key{
	{Name: "common_dump_settings", Type: TypeObject, Since: sinceMS10, rule: "MS001"},
	{Name: "e2e_dump_settings", Type: TypeObject, Since: sinceMS10, rule: "MS001"},
	{Name: "async_dump_settings", Type: TypeObject, Since: sinceMS10, rule: "MS001"},
}}

var mindSporeCommon = keyTable{where: Text{EN: `"common_dump_settings"`, ZH: ` "common_dump_settings" `}, keys: []Key{
	{Name: "dump_mode", Type: TypeUint, Since: sinceMS10, rule: "MS018"},
	{Name: "path", Type: TypeString, Since: sinceMS10, rule: "MS014"},
	{Name: "net_name", Type: TypeString, Since: sinceMS10, rule: "MS015"},
	{Name: "iteration", Type: TypeString, Since: sinceMS10, rule: "MS020"},
	{Name: "saved_data", Type: TypeString, Values: []string{"tensor", "statistic", "full"}, Since: sinceMS16, rule: "MS024"},
	{Name: "input_output", Type: TypeUint, Since: sinceMS10, rule: "MS018"},
	{Name: "kernels", Type: TypeStrings, Since: sinceMS10, rule: "MS019"},
	{Name: "support_device", Type: TypeUints, Since: sinceMS10, rule: "MS019"},
	{Name: "op_debug_mode", Type: TypeUint, Since: sinceMS12, rule: "MS018"},
	{Name: "file_format", Type: TypeString, Values: []string{"bin", "npy"}, Since: sinceMS15, rule: "MS029"},
	{Name: "overflow_number", Type: TypeUint, Since: sinceMS23, rule: "MS018"},
	{Name: "initial_iteration", Type: TypeUint, Since: sinceMS23, rule: "MS018"},
	{Name: "statistic_category", Type: TypeStrings, Since: sinceMS23, rule: "MS019"},
}}

// hostStatistics are the values of statistic_category; those of
// deviceStatistics can also be computed on the device.
var (
	hostStatistics = []string{"max", "min", "avg", "count", "negative zero count", "positive zero count",
		"nan count", "negative inf count", "positive inf count", "zero count", "md5", "l2norm",
		"hash", "hash:sha1", "hash:md5"}
	deviceStatistics = []string{"max", "min", "avg", "l2norm"}
)

var mindSporeE2E = keyTable{where: Text{EN: `"e2e_dump_settings"`, ZH: ` "e2e_dump_settings" `}, keys: []Key{
	{Name: "enable", Type: TypeBool, Since: sinceMS10, rule: "MS050"},
	{Name: "trans_flag", Type: TypeBool, Since: sinceMS10, rule: "MS050"},
	{Name: "stat_calc_mode", Type: TypeString, Values: []string{"host", "device"}, Since: sinceMS23, rule: "MS052"},
	{Name: "device_stat_precision_mode", Type: TypeString, Values: []string{"high", "low"}, Since: sinceMS24, rule: "MS052"},
	{Name: "sample_mode", Type: TypeUint, Since: sinceMS23, rule: "MS018"},
	{Name: "sample_num", Type: TypeUint, Since: sinceMS23, rule: "MS018"},
	{Name: "save_kernel_args", Type: TypeBool, Since: sinceMS23, rule: "MS050"},
}}

var mindSporeAsync = keyTable{where: Text{EN: `"async_dump_settings"`, ZH: ` "async_dump_settings" `}, keys: []Key{
	{Name: "enable", Type: TypeBool, Since: sinceMS10, rule: "MS050"},
	{Name: "op_debug_mode", Type: TypeUint, Since: sinceMS10, rule: "MS018"},
}}
