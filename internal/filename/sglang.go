package filename

import (
	"strings"

	"dumptool/internal/tensor"
)

// parseSGLang parses the names of SGLang's dumper, key=value pairs in any order:
// name=x___step=3___rank=0___dump_index=12.pt. Older versions write forward_pass_id in place of step. Further keys, such
// as layer_id=7, are part of the operator's name.
func parseSGLang(stem, ext string) (n Info, ok bool) {
	if ext != ".pt" || !strings.Contains(stem, "name=") { // fast path
		return n, false
	}
	name, rest := "", ""
	for pair := range strings.SplitSeq(stem, "___") {
		key, value, found := strings.Cut(pair, "=")
		if !found || key == "" || value == "" {
			return n, false
		}
		switch key {
		case "name":
			name = value
		case "rank":
			n.Rank, ok = value, isDigits(value)
		case "step", "forward_pass_id":
			n.Step, ok = value, isDigits(value)
		case "dump_index":
			n.Sequence, ok = parseIndex(value)
			n.Sequence++
		default:
			rest, ok = rest+"."+pair, true
		}
		if key != "name" && !ok {
			return n, false
		}
	}
	n.OpName, n.Kind = name+rest, tensor.Output
	return n, name != "" && (n.Rank != "" || n.Step != "" || n.Sequence > 0)
}
