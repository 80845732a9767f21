package inspect

import (
	"path"
	"slices"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/lang"
)

// Command is a command of dumptool that makes sense.
type Command struct {
	// Args are its words behind dumptool, Line is all of it for a shell.
	Args []string `json:"args"`
	Line string   `json:"line"`
	// Why says what it is for.
	Why lang.Sentence `json:"why"`
}

// mostSteps is how many commands are named.
const mostSteps = 3

// Suggest fills in the commands that make sense.
func (o *Overview) Suggest() {
	o.Next = []Command{}
	for i := range steps {
		s := &steps[i]
		if args := s.args(o); args != nil && len(o.Next) < mostSteps {
			o.Next = append(o.Next, Command{args, lang.ShellLine(append([]string{"dumptool"}, args...)), lang.Sayf("%s", "%s", s.why)})
		}
	}
}

// IsKnown reports whether anything is there that a command takes.
func (o *Overview) IsKnown() bool {
	return o.HasTensors() || o.Run.Records > 0 || slices.ContainsFunc(steps[:], func(s step) bool { return s.args(o) != nil })
}

// step is a command, which is nil where it makes no sense.
type step struct {
	why  lang.Text
	args func(o *Overview) []string
}

// steps are in the order of what helps most.
var steps = [...]step{
	{lang.Text{EN: "which operator went wrong first, and why", ZH: "哪个算子最先出错及原因"}, func(o *Overview) []string {
		if o.Run.Reference == "" {
			return nil
		}
		return []string{"compare", "--cpu", o.Run.Reference, "--npu", o.Run.NPU, "-out", "report"}
	}},
	{lang.Text{EN: "whether the runs give the same bits", ZH: "各次运行结果是否逐位一致"}, func(o *Overview) []string {
		if len(o.Run.Paths) < 2 || !o.HasTensors() {
			return nil
		}
		return append([]string{"compare", "determinism"}, o.Run.Paths...)
	}},
	{lang.Text{EN: "which operator overflowed first", ZH: "哪个算子最先溢出"}, func(o *Overview) []string {
		if o.Run.Records == 0 || len(o.Run.Paths) > 1 {
			return nil
		}
		return []string{"overflow", "analyze", "-d", o.Run.Paths[0]}
	}},
	{lang.Text{EN: "who overwrote the memory of an operator", ZH: "哪个算子改写了其他算子的内存"}, func(o *Overview) []string {
		return o.onFile([]string{"overflow", "watch"}, func(f *dumpdir.File) bool { return strings.Contains(filename.Parse(f.Name).OpName, "_To_") })
	}},
	{lang.Text{EN: "the mistakes in the configuration", ZH: "配置中的错误"}, func(o *Overview) []string {
		for _, c := range o.Run.Configurations {
			if c.Errors+c.Warnings > 0 || o.Of.Single {
				return []string{"config", "check", c.Path}
			}
		}
		return nil
	}},
	{lang.Text{EN: "what the configuration dumps", ZH: "配置会 dump 什么"}, func(o *Overview) []string {
		if !o.Of.Single || len(o.Run.Configurations) == 0 {
			return nil
		}
		return []string{"config", "explain", o.Run.Configurations[0].Path}
	}},
	{lang.Text{EN: "the page of the comparison", ZH: "比对结果页面"}, func(o *Overview) []string {
		if p := o.named(comparison); p != "" {
			return []string{"report", p, "-out", "report.html"}
		}
		return nil
	}},
	{lang.Text{EN: "the verdict again, by other limits", ZH: "按其他门限重新判定"}, func(o *Overview) []string {
		if p := o.named(comparison); p != "" {
			return []string{"compare", "judge", p, "--atol", "0.001", "--rtol", "0.01"}
		}
		return nil
	}},
	{lang.Text{EN: "where the time goes", ZH: "耗时分布"}, func(o *Overview) []string {
		return o.onFile([]string{"perf"}, func(f *dumpdir.File) bool { return perfTable().MatchString(f.Name) })
	}},
	{lang.Text{EN: "arrays of the raw pieces of HPAA", ZH: "将 HPAA 原始分片拼成数组"}, func(o *Overview) []string {
		pieces := func(f *dumpdir.File) bool { return strings.Contains(f.Name, "_map_name@") }
		if o.onFile(nil, pieces) == nil {
			return nil
		}
		return []string{"hpaa", "import", strings.TrimSuffix(strings.TrimSuffix(o.Run.Paths[0], "/"), "/dump_data"), "--learn"}
	}},
	{lang.Text{EN: "its values", ZH: "数值"}, func(o *Overview) []string {
		if !o.Of.Single || len(o.Run.Types) == 0 {
			return nil
		}
		return []string{"show", o.Run.Paths[0]}
	}},
	{lang.Text{EN: "NaN, Inf and saturated values in execution order", ZH: "按执行顺序查找 NaN、Inf 和饱和值"}, func(o *Overview) []string {
		if !o.HasTensors() || o.Of.Single {
			return nil
		}
		return append([]string{"overflow", "scan"}, o.npu()...)
	}},
	{lang.Text{EN: "host files of the dumps", ZH: "转换为主机侧文件"}, func(o *Overview) []string {
		return o.onFile([]string{"convert", "-out", "converted", "-d"}, func(f *dumpdir.File) bool { return f.Role == dumpdir.Tensors && isDump(f) })
	}},
	{lang.Text{EN: "every tensor with its range", ZH: "每个张量及其取值范围"}, func(o *Overview) []string {
		if !o.HasTensors() {
			return nil
		}
		return append([]string{"inspect", "--stats"}, o.npu()...)
	}},
}

// npu are the paths that were given, without the reference where that is in one.
func (o *Overview) npu() []string {
	if o.Run.NPU != "" && len(o.Run.Paths) == 1 && o.Run.Reference != o.Run.Paths[0] {
		return []string{o.Run.NPU}
	}
	return o.Run.Paths
}

// perfTable is the form of the names of tables of performance.
var perfTable = lang.Pattern(`^op_perf(_[0-9]+)?\.csv$`)

// onFile is a command on the only path that was given, where a file is of some kind.
func (o *Overview) onFile(command []string, is func(*dumpdir.File) bool) []string {
	if len(o.Run.Paths) > 1 || !slices.ContainsFunc(o.Of.Files, is) {
		return nil
	}
	return append(slices.Clone(command), o.npu()[0])
}

// named is the path of the file of a name in one of the paths that were given.
func (o *Overview) named(name string) string {
	i := slices.IndexFunc(o.Of.Files, func(f *dumpdir.File) bool { return path.Base(f.Name) == name && f.Folder.Dir == "." })
	if i < 0 {
		return ""
	}
	return o.Of.Files[i].Path()
}
