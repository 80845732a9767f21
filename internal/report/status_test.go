package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/statusreg"
	"dumptool/internal/ui"
)

// printedStatus returns a decoded value as a terminal shows it.
func printedStatus(t Text, where string, r *statusreg.Result) string {
	var b strings.Builder
	t.printerTo(&b).writeStatus(where, r)
	return b.String()
}

// TestStatusWidths: for every bit of every register no line is wider than the terminal, and nothing
// is lost.
func TestStatusWidths(t *testing.T) {
	t.Parallel()
	letters := func(s string) string {
		return strings.Join(strings.Fields(s), "")
	}
	for _, register := range statusreg.Registers() {
		for bit := -1; bit < 200; bit += 7 {
			v := statusreg.Value{uint64(bit & 15), 0x10}
			if bit >= 0 {
				v[bit/64] |= 1 << (bit % 64)
			}
			res := statusreg.Decode(register, v)
			for _, lang := range []Lang{English, Chinese} {
				whole := printedStatus(Text{Lang: lang}, "", &res)
				for _, width := range []int{1, 30, 60, 80, 120, 160, 400} {
					text := printedStatus(Text{Lang: lang, Width: width}, "", &res)
					if len(letters(text)) != len(letters(whole)) {
						t.Fatalf("%v %v, width %d: lost text:\n%s", register, v, width, text)
					}
					for line := range strings.Lines(text) {
						line = strings.TrimSuffix(line, "\n")
						if strings.HasSuffix(line, " ") || width >= 60 && ui.Columns.StringWidth(line) > width {
							t.Errorf("%v %v, width %d: %q", register, v, width, line)
						}
					}
				}
			}
		}
	}
}

func TestStatusColumns(t *testing.T) {
	t.Parallel()
	text := func(lang Lang, width int, r statusreg.Register, v uint64) string {
		res := statusreg.Decode(r, statusreg.Value{v})
		s := Text{Lang: lang, Width: width}
		return "\n" + printedStatus(s, s.format("line %d", 14), &res)
	}
	tests := map[string]struct {
		got, want string
	}{
		"80 columns": {text(English, 80, statusreg.AICore, 272), `
line 14: aicore 272 (0x110), AI Core status
  bit 4  0x10   integer addition,          check the range of the integers,
                subtraction,               above all index arithmetic
                multiplication or
                multiply-add overflowed
  bit 8  0x100  conversion from FP32 or    look for a Cast to FP16, also one
                INT32 to FP16 overflowed   fused into another operator, and keep
                                           its input in FP32 or scale it down
`},
		"80 columns, Chinese": {text(Chinese, 80, statusreg.AICore, 272), `
第 14 行：aicore 272 (0x110)，AI Core 状态
  第 4 位  0x10   整数加、减、乘或乘加溢出  检查整数取值范围，尤其是下标计算
  第 8 位  0x100  FP32 转 FP16 或 32 位有   查找转 FP16 的 Cast（含融合到其他算
                  符号整数转 FP16 溢出      子中的 Cast），保持 FP32 或缩小其输
                                            入
`},
		"no room beside": {text(English, 56, statusreg.DavidVec, 1<<16), `
line 14: david-vec 65536 (0x10000), VEC errors of Ascend
  950
  bit 16 (number 336)  0x10000  operand is Inf or NaN
                                  the input already
                                  holds Inf or NaN: look
                                  for the operator that
                                  made it, further up
`},
		"room for one": {text(English, 100, statusreg.DavidVec, 1<<16), `
line 14: david-vec 65536 (0x10000), VEC errors of Ascend 950
  bit 16 (number 336)  0x10000  operand is Inf or NaN  the input already holds Inf or NaN: look for
                                                       the operator that made it, further up
`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, tt.got); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}
