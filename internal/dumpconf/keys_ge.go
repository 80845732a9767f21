package dumpconf

// Dump options of the graph engine, after its documentation, and those of the
// TensorFlow adapter, which are the same under other names.

var (
	dumpModes      = []string{"input", "output", "all"}
	dumpDatas      = []string{"tensor", "stats"}
	dumpDebugModes = []string{"aicore_overflow", "atomic_overflow", "all"}
)

var geOptions = keyTable{where: Text{EN: "the options", ZH: "选项"}, open: true, keys: []Key{
	{Name: "ge.exec.enableDump", Type: TypeString, rule: "GE001"},
	{Name: "ge.exec.enableDumpDebug", Type: TypeString, rule: "GE001"},
	{Name: "ge.exec.dumpPath", Type: TypeString, rule: "GE009"},
	{Name: "ge.exec.dumpStep", Type: TypeString, rule: "GE009"},
	{Name: "ge.exec.dumpMode", Type: TypeString, Values: dumpModes, rule: "GE005"},
	{Name: "ge.exec.dumpData", Type: TypeString, Values: dumpDatas, rule: "GE005"},
	{Name: "ge.exec.dumpLayer", Type: TypeString, rule: "GE009"},
	{Name: "ge.exec.dumpDebugMode", Type: TypeString, Values: dumpDebugModes, rule: "GE006"},
	{Name: "ge.exec.enable_exception_dump", Type: TypeString, Values: []string{"0", "1", "2"}, rule: "GE009"},
}}

var tfOptions = keyTable{where: Text{EN: "the options", ZH: "选项"}, open: true, keys: []Key{
	{Name: "enable_dump", Type: TypeBool, rule: "GE001"},
	{Name: "enable_dump_debug", Type: TypeBool, rule: "GE001"},
	{Name: "dump_path", Type: TypeString, rule: "GE009"},
	{Name: "dump_step", Type: TypeString, rule: "GE009"},
	{Name: "dump_mode", Type: TypeString, Values: dumpModes, rule: "GE005"},
	{Name: "dump_data", Type: TypeString, Values: dumpDatas, rule: "GE005"},
	{Name: "dump_layer", Type: TypeString, rule: "GE009"},
	{Name: "dump_debug_mode", Type: TypeString, Values: dumpDebugModes, rule: "GE006"},
}}
