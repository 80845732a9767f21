package find

import (
	"encoding/json"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
)

// kept says which tensors of an operator the configuration in a tree has dumped: the
// values of input_output of MindSpore.
type kept int

const (
	keptAll kept = iota
	keptInputs
	keptOutputs
)

// The copy of the configuration that MindSpore leaves beside the dumps.
const (
	settingsName = "data_dump.json"
	maxSettings  = 1 << 20 // bytes
)

// settingsFolders hold it: beside the ranks in old releases, in the folder of the rank in
// later ones.
var settingsFolders = []string{".metadata", ".dump_metadata"}

// readSettings finds out what of the operators of each root was dumped. dumptool config
// check says what is wrong with a configuration; here one that cannot be read is none.
func (t *tree) readSettings() {
	for _, f := range t.run.Files {
		dir := store.Dir(absolute(f.Path()))
		if f.Name != settingsName || f.Err != nil || !slices.Contains(settingsFolders, store.Base(dir)) {
			continue
		}
		above := store.Dir(dir)
		for _, r := range t.roots {
			if r.dir == above || strings.HasPrefix(r.dir, above+string(filepath.Separator)) {
				r.kept = readKept(f.Path())
			}
		}
	}
	for _, r := range t.roots { // of a folder that lies below its root
		for _, folder := range settingsFolders {
			if r.kept == keptAll && r.bare == nil {
				r.kept = readKept(store.Join(r.dir, folder, settingsName))
			}
		}
	}
}

func readKept(name string) kept {
	in, err := safefile.Open(name)
	if err != nil {
		return keptAll
	}
	defer in.Close()
	var settings struct {
		Common struct {
			InputOutput kept `json:"input_output"`
		} `json:"common_dump_settings"`
	}
	data, err := io.ReadAll(io.LimitReader(in, maxSettings))
	if err != nil || json.Unmarshal(data, &settings) != nil {
		return keptAll
	}
	return settings.Common.InputOutput
}

// keptNote says where to find a tensor of the first of some results that the configuration
// kept from being dumped; nothing where there is none.
func (r *root) keptNote(results []Result) lang.Sentence {
	for _, result := range results {
		op, ok := result.(*Operator)
		if !ok || op.Level > 0 || op.NotDumped || !r.dumped {
			continue
		}
		switch r.kept {
		case keptOutputs:
			for k := range op.Inputs {
				in := &op.Inputs[k]
				from := in.From
				if len(in.Dumped) > 0 {
					from = in.Dumped
				}
				if len(from) == 0 || op.excludes("input", in.Index) {
					continue
				}
				return lang.Sayf("only outputs were dumped (input_output 2): for input %d of %s take %s", "只 dump 了输出(input_output 2)：%[2]s 的输入 %[1]d 请取%[3]s",
					in.Index, path.Base(deref(op.OpName)), from[0].text())
			}
		case keptInputs:
			for k := range op.Outputs {
				out := &op.Outputs[k]
				if out.dumped == nil || op.excludes("output", out.Index) {
					continue
				}
				return lang.Sayf("only inputs were dumped (input_output 1): for output %d of %s take input %d of %s", "只 dump 了输入(input_output 1)：%[2]s 的输出 %[1]d 请取 %[4]s 的输入 %[3]d",
					out.Index, path.Base(deref(op.OpName)), out.dumped.Index, path.Base(out.dumped.Name))
			}
		}
	}
	return lang.Sentence{}
}

// text names an output, or a parameter.
func (l Link) text() lang.Text {
	if name, isParam := strings.CutPrefix(l.Name, "param:"); isParam {
		return lang.Sayf("the parameter %s", "参数 %s", name).Text()
	}
	return lang.Sayf("output %d of %s", "%[2]s 的输出 %[1]d", l.Index, path.Base(l.Name)).Text()
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
