package dumpconf

// Dump options of the graph engine, after its documentation, and those of the
// TensorFlow adapter, which are the same under other names.

var (
	dumpModes      = []string{"input", "output", "all"}
	dumpDatas      = []string{"tensor", "stats"}
	dumpDebugModes = []string{"aicore_overflow", "atomic_overflow", "all"}
)

var geOptions = keyTable{where: "the options", open: true, keys: []Key{
	{Name: "ge.exec.enableDump", Type: TypeString, Default: "0", rule: "GE001", About: "1 dumps operators"},
	{Name: "ge.exec.enableDumpDebug", Type: TypeString, Default: "0", rule: "GE001", About: "1 dumps operators that overflow"},
	{Name: "ge.exec.dumpPath", Type: TypeString, rule: "GE009", About: "existing folder for the dump files"},
	{Name: "ge.exec.dumpStep", Type: TypeString, Default: "all steps", rule: "GE009", About: "steps such as 0|3-5|10"},
	{Name: "ge.exec.dumpMode", Type: TypeString, Values: dumpModes, Default: "output", rule: "GE005", About: "inputs, outputs or both"},
	{Name: "ge.exec.dumpData", Type: TypeString, Values: dumpDatas, Default: "tensor", rule: "GE005", About: "tensors or statistics"},
	{Name: "ge.exec.dumpLayer", Type: TypeString, Default: "all operators", rule: "GE009", About: "operator names with spaces between"},
	{Name: "ge.exec.dumpDebugMode", Type: TypeString, Values: dumpDebugModes, rule: "GE006", About: "which overflows to look for"},
	{Name: "ge.exec.enable_exception_dump", Type: TypeString, Values: []string{"0", "1", "2"}, Default: "0", rule: "GE009", About: "dump of failing operators"},
}}

var tfOptions = keyTable{where: "the options", open: true, keys: []Key{
	{Name: "enable_dump", Type: TypeBool, Default: "false", rule: "GE001", About: "dumps operators"},
	{Name: "enable_dump_debug", Type: TypeBool, Default: "false", rule: "GE001", About: "dumps operators that overflow"},
	{Name: "dump_path", Type: TypeString, rule: "GE009", About: "existing folder for the dump files"},
	{Name: "dump_step", Type: TypeString, Default: "all steps", rule: "GE009", About: "steps such as 0|3-5|10"},
	{Name: "dump_mode", Type: TypeString, Values: dumpModes, Default: "output", rule: "GE005", About: "inputs, outputs or both"},
	{Name: "dump_data", Type: TypeString, Values: dumpDatas, Default: "tensor", rule: "GE005", About: "tensors or statistics"},
	{Name: "dump_layer", Type: TypeString, Default: "all operators", rule: "GE009", About: "operator names with spaces between"},
	{Name: "dump_debug_mode", Type: TypeString, Values: dumpDebugModes, rule: "GE006", About: "which overflows to look for"},
}}
