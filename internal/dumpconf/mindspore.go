package dumpconf

import (
	"strconv"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// The keys of MindSpore's dump settings, from its documentation and dump_json_parser.

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

// hostStatistics lists the values of statistic_category; the device can also compute
// deviceStatistics.
var (
	hostStatistics = []string{"max", "min", "avg", "count", "negative zero count", "positive zero count",
		"nan count", "negative inf count", "positive inf count", "zero count", "md5", "l2norm",
		"hash", "hash:sha1", "hash:md5"}
	deviceStatistics = []string{"max", "min", "avg", "l2norm"}
)

var mindSporeRoot = keyTable{description: Text{EN: "the top level"}, keys: []Key{
	{Name: "common_dump_settings", Type: TypeObject, Since: sinceMS10, rule: "MS001", members: &mindSporeCommon},
	{Name: "e2e_dump_settings", Type: TypeObject, Since: sinceMS10, rule: "MS001", members: &mindSporeE2E},
	{Name: "async_dump_settings", Type: TypeObject, Since: sinceMS10, rule: "MS001", members: &mindSporeAsync},
}}

var mindSporeCommon = keyTable{name: "common_dump_settings", description: Text{EN: `"common_dump_settings"`}, keys: []Key{
	{Name: "dump_mode", Type: TypeUint, Values: []string{"0", "1", "2"}, Since: sinceMS10, rule: "MS018", isRequired: true,
		Doc: Text{EN: "0 all operators, 1 operators in kernels, 2 operators marked by set_dump"}},
	{Name: "path", Type: TypeString, Since: sinceMS10, rule: "MS014",
		Doc:      Text{EN: "absolute path of the folder for the dump files"},
		Question: Text{EN: "Folder for the dump files (absolute path)?"}},
	{Name: "net_name", Type: TypeString, Since: sinceMS10, rule: "MS015", isRequired: true,
		Doc:      Text{EN: "name of the network, part of the path"},
		Question: Text{EN: "Name of the network?"}},
	{Name: "iteration", Type: TypeString, Since: sinceMS10, rule: "MS020", isRequired: true,
		Doc:      Text{EN: "steps to dump, such as 0|5-8, counted from 0, or all"},
		Question: Text{EN: "Steps to dump, such as 0|5-8, or all?"}},
	{Name: "saved_data", Type: TypeString, Values: []string{"tensor", "statistic", "full"}, Default: "tensor", Since: sinceMS16, rule: "MS024",
		Doc: Text{EN: "tensors, their statistics or both"}},
	{Name: "input_output", Type: TypeUint, Values: []string{"0", "1", "2"}, Since: sinceMS10, rule: "MS018", isRequired: true,
		Doc: Text{EN: "0 both, 1 inputs, 2 outputs"}},
	{Name: "kernels", Type: TypeStrings, Since: sinceMS10, rule: "MS019", isRequired: true,
		Doc:      Text{EN: "operators to dump: full names, types or name-regex(...); all when empty"},
		Question: Text{EN: "Operators to dump, with commas between (empty: all)?"}},
	{Name: "support_device", Type: TypeUints, Since: sinceMS10, rule: "MS019", isRequired: true,
		Doc: Text{EN: "ids of the devices that dump"}},
	{Name: "op_debug_mode", Type: TypeUint, Since: sinceMS12, rule: "MS018"},
	{Name: "overflow_number", Type: TypeUint, Default: "0", Since: sinceMS23, rule: "MS018",
		Doc: Text{EN: "how many overflows to dump, 0 for all"}},
	{Name: "initial_iteration", Type: TypeUint, Default: "0", Since: sinceMS23, rule: "MS018"},
	{Name: "statistic_category", Type: TypeStrings, Values: hostStatistics, Since: sinceMS23, rule: "MS019", hasOwnRule: true,
		Doc: Text{EN: "statistics to compute"}},
	{Name: "file_format", Type: TypeString, Values: []string{"bin", "npy"}, Since: sinceMS15, rule: "MS029",
		Doc: Text{EN: "format of the files"}},
}}

var mindSporeE2E = keyTable{name: "e2e_dump_settings", description: Text{EN: `"e2e_dump_settings"`}, keys: []Key{
	{Name: "enable", Type: TypeBool, Since: sinceMS10, rule: "MS050", isRequired: true,
		Doc: Text{EN: "true for a synchronous dump"}},
	{Name: "trans_flag", Type: TypeBool, Since: sinceMS10, rule: "MS050", isRequired: true,
		Doc: Text{EN: "convert to the host's NCHW layout"}},
	{Name: "stat_calc_mode", Type: TypeString, Values: []string{"host", "device"}, Since: sinceMS23, rule: "MS052",
		Doc: Text{EN: "where statistics are computed"}},
	{Name: "device_stat_precision_mode", Type: TypeString, Values: []string{"high", "low"}, Since: sinceMS24, rule: "MS052"},
	{Name: "sample_mode", Type: TypeUint, Values: []string{"0", "1"}, Default: "0", Since: sinceMS23, rule: "MS018",
		Doc: Text{EN: "1 saves head and tail only"}},
	{Name: "sample_num", Type: TypeUint, Default: "100", Since: sinceMS23, rule: "MS018",
		Doc: Text{EN: "how many elements to save"}},
	{Name: "save_kernel_args", Type: TypeBool, Default: "false", Since: sinceMS23, rule: "MS050",
		Doc: Text{EN: "save the attributes of operators"}},
}}

var mindSporeAsync = keyTable{name: "async_dump_settings", description: Text{EN: `"async_dump_settings"`}, keys: []Key{
	{Name: "enable", Type: TypeBool, Since: sinceMS10, Until: sinceMS12, rule: "MS050"},
	{Name: "op_debug_mode", Type: TypeUint, Since: sinceMS10, Until: sinceMS12, rule: "MS018"},
}}

func mindSporeProfiles() []Profile {
	field, e2e := mindSporeCommon.field, mindSporeE2E.field
	path, net := field("path").withPlaceholder(folderPlaceholder), field("net_name").withPlaceholder("my_net")
	devices := field("support_device", "0").withPreset(usedDevices)
	common := func(saved Field) []Field {
		return []Field{field("dump_mode", "0").withPreset(modeForKernels), path, net, field("iteration", "0"), saved, field("input_output", "0"),
			field("kernels").withEmptyDefault(), devices, field("op_debug_mode", "0").asFixed()}
	}
	saved, format := field("saved_data", "tensor"), field("file_format", "npy")
	// A file for either way to dump: e2e_dump_settings for the framework, file_format for the
	// device.
	formatOfDevice := format.withPreset(func(b *builder, v []string) []string { return valuesIf(!b.opt.needsE2ESettings(), v) })
	ofFramework := func(f Field) Field {
		return f.withPreset(func(b *builder, v []string) []string {
			return valuesIf(b.opt.needsE2ESettings() && !b.opt.TargetVersion.IsBefore(sinceMS12), v)
		})
	}
	enable, trans, calc := e2e("enable", "true"), e2e("trans_flag", "true"), e2e("stat_calc_mode")
	async := func(mode string) []Field {
		return []Field{mindSporeAsync.field("enable", "true").asFixed(), mindSporeAsync.field("op_debug_mode", mode).asFixed()}
	}
	next := []string{"next.ms-variable", "next.ms-files", "next.devices", nextOfBackend}
	return []Profile{
		{
			Name: "ms-e2e", About: Text{EN: "MindSpore: dump by the framework itself, synchronous"}, next: append(next, "next.large-network"),
			Fields: append(common(saved), enable, trans, calc, e2e("sample_mode"), e2e("sample_num"), e2e("save_kernel_args")),
		},
		{
			Name: "ms-async", About: Text{EN: "MindSpore: dump by the device, asynchronous (jit_level O2, graph engine)"}, next: append(next, "next.large-network"),
			Fields: append(append(common(saved), format), async("0")...),
		},
		{
			Name: "ms-overflow", About: Text{EN: "MindSpore: operators that overflow"}, next: next,
			Fields: append([]Field{field("dump_mode", "0").asFixed(), path, net, field("iteration", "all"), field("input_output", "0").asFixed(),
				field("kernels").withEmptyDefault().asFixed(), devices, field("op_debug_mode", "3").asFixed(), field("overflow_number"),
				formatOfDevice, ofFramework(enable), ofFramework(trans)}, async("3")...),
		},
		{
			Name: "ms-stat", About: Text{EN: "MindSpore: statistics in place of tensors"}, Since: sinceMS16, next: next,
			Fields: append(common(field("saved_data", "statistic").asFixed()), field("statistic_category", "max", "min", "l2norm"),
				formatOfDevice, ofFramework(e2e("enable", "false")), ofFramework(trans), ofFramework(e2e("stat_calc_mode", "host"))),
		},
	}
}

// modeForKernels returns mode 1 if kernels are set.
func modeForKernels(b *builder, mode []string) []string {
	if b.isGiven("kernels") {
		return []string{"1"}
	}
	return mode
}

// usedDevices returns the devices of the options, else the default.
func usedDevices(b *builder, first []string) []string {
	if len(b.opt.Devices) == 0 {
		return first
	}
	return numberTexts(b.opt.Devices)
}

func numberTexts(ids []uint64) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = strconv.FormatUint(id, 10)
	}
	return out
}

// MindSpore holds a dump configuration of MindSpore.
type MindSpore struct {
	Root, Common, E2E, Async *Object

	Kernels []Kernel    // parsed kernels
	Steps   []lang.Step // parsed iteration; nil for all steps
	// debug is op_debug_mode, which before 1.2 belonged to async_dump_settings.
	debug Setting
}

func readMindSpore(d *decoder, root *jsonpos.Value) *MindSpore {
	m := &MindSpore{Root: d.readDocument(root, &mindSporeRoot)}
	m.Common, m.E2E, m.Async = m.Root.child("common_dump_settings"), m.Root.child("e2e_dump_settings"), m.Root.child("async_dump_settings")
	m.debug = m.setting("op_debug_mode")
	for _, s := range m.setting("kernels").Elems {
		m.Kernels = append(m.Kernels, ParseKernel(s.Value))
	}
	if s := m.setting("iteration"); s.OK && s.Value != "all" {
		m.Steps = lang.ParseSteps(s.Value)
	}
	return m
}

// setting returns a setting of common_dump_settings or e2e_dump_settings, which share no key.
func (m *MindSpore) setting(key string) Setting {
	if m.E2E.table.find(key) != nil {
		return m.E2E.setting(key)
	}
	return m.Common.setting(key)
}

// hasE2E reports whether the key e2e_dump_settings is present.
func (m *MindSpore) hasE2E() bool { return m.Root.Node.Get("e2e_dump_settings") != nil }

// debugMode returns op_debug_mode, 0 if absent.
func (m *MindSpore) debugMode() uint64 { return m.debug.Uint }

// savesStatistics reports whether saved_data includes statistics.
func (m *MindSpore) savesStatistics() bool {
	saved := m.setting("saved_data").Value
	return saved == "statistic" || saved == "full"
}

// savesTensors reports whether saved_data includes tensors, which is the default.
func (m *MindSpore) savesTensors() bool { return m.setting("saved_data").Value != "statistic" }

// inputOutput maps values of input_output to names of the ACL runtime.
var inputOutput = []string{"all", "input", "output"}

// dumpMode returns the ACL runtime's name of input_output.
func (m *MindSpore) dumpMode() string {
	if v := m.setting("input_output").Uint; v < uint64(len(inputOutput)) && m.debugMode() == 0 {
		return inputOutput[v]
	}
	return "all"
}

// KernelKind is MindSpore's interpretation of an entry of "kernels".
type KernelKind int

// The kinds of entries.
const (
	KernelType  KernelKind = iota // substring of the operator type, ignoring case
	KernelName                    // full scope name, exactly
	KernelRegex                   // regular expression for the full scope name
)

var kernelKindNames = [...]Text{{EN: "an operator type"}, {EN: "a full name"}, {EN: "a regular expression"}}

// String returns the kind with its article.
func (k KernelKind) String() string { return kernelKindNames[k].String() }

// Text returns the kind in both languages.
func (k KernelKind) Text() Text { return kernelKindNames[k] }

const regexPrefix = "name-regex("

// Kernel is an entry of "kernels" as MindSpore reads it.
type Kernel struct {
	Kind KernelKind
	// Pattern is the text to match: the entry without spaces and quotes; for a regular expression
	// the part in brackets.
	Pattern string
	// Unclosed marks an entry that begins like a regular expression but lacks the closing bracket.
	// MindSpore does not treat it as an expression.
	Unclosed bool
}

// ParseKernel classifies an entry. Like MindSpore it removes quotes and spaces first.
func ParseKernel(text string) Kernel {
	k := Kernel{Pattern: strings.NewReplacer(" ", "", `"`, "").Replace(text)}
	inner, isRegex := strings.CutPrefix(k.Pattern, regexPrefix)
	if isRegex {
		if re, closed := strings.CutSuffix(inner, ")"); closed {
			k.Kind, k.Pattern = KernelRegex, re
			return k
		}
		k.Unclosed = true
	}
	if strings.Contains(k.Pattern, "/") || strings.Contains(k.Pattern, "-op") {
		k.Kind = KernelName
	}
	return k
}
