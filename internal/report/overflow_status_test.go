package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/statusreg"
)

func TestLang(t *testing.T) {
	t.Parallel()
	var l Lang
	if err := l.Set("ZH"); err != nil || l != Chinese || l.String() != "zh" || l.Type() != "en|zh" {
		t.Errorf("Set(ZH) = %v, %q", err, l)
	}
	if err := l.Set("de"); err == nil || l != Chinese {
		t.Errorf("Set(de) = %v, %q", err, l)
	}
	text := statusreg.Text{EN: "e", ZH: "z"}
	if Lang("").Text(text) != "e" || Chinese.Text(text) != "z" {
		t.Error("wrong language")
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text        string
		first, rest int
		want        []string
	}{
		"fits":             {"one two", 7, 7, []string{"one two"}},
		"no width":         {"one two", 0, 0, []string{"one two"}},
		"empty":            {"", 5, 5, []string{""}},
		"blanks":           {"one two three", 8, 8, []string{"one two", "three"}},
		"other rest":       {"one two three", 4, 9, []string{"one", "two three"}},
		"long word":        {"a 0123456789 b", 4, 4, []string{"a", "0123", "4567", "89 b"}},
		"chinese":          {"整数加减", 5, 5, []string{"整数", "加减"}},
		"closing":          {"整数，加减", 4, 4, []string{"整", "数，", "加减"}},
		"opening":          {"整数（加）减", 6, 6, []string{"整数", "（加）", "减"}},
		"narrow brackets":  {"整数(加)减", 5, 5, []string{"整数", "(加)", "减"}},
		"word in chinese":  {"转 FP16 溢出", 6, 6, []string{"转", "FP16", "溢出"}},
		"words stay whole": {"为FP16溢出", 6, 6, []string{"为FP16", "溢出"}},
		"narrow as can be": {"整a数", 1, 1, []string{"整", "a", "数"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, wrap(tt.text, tt.first, tt.rest)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStatusWidths checks that no line is wider than the terminal and that
// nothing gets lost, for every bit of every register.
func TestStatusWidths(t *testing.T) {
	t.Parallel()
	letters := func(s string) string {
		return strings.Join(strings.Fields(s), "")
	}
	for _, register := range statusreg.Registers() {
		for bit := -1; bit < 200; bit += 7 {
			v := statusreg.Value{uint64(bit & 15), 0x10}
			if bit >= 0 {
				v = v.Or(statusreg.Bit(bit))
			}
			res := statusreg.Decode(register, v)
			for _, lang := range []Lang{English, Chinese} {
				whole := string(StatusText{Lang: lang}.Append(nil, "", &res))
				for _, width := range []int{1, 30, 60, 80, 120, 160, 400} {
					text := string(StatusText{Lang: lang, Width: width}.Append(nil, "", &res))
					if len(letters(text)) != len(letters(whole)) {
						t.Fatalf("%v %v, width %d: lost text:\n%s", register, v, width, text)
					}
					for line := range strings.Lines(text) {
						line = strings.TrimSuffix(line, "\n")
						if strings.HasSuffix(line, " ") || width >= 60 && metric.StringWidth(line) > width {
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
		s := StatusText{Lang: lang, Width: width}
		return "\n" + string(s.Append(nil, s.Line(14), &res))
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
  第 8 位  0x100  FP32 转 FP16 或 32 位有   查找转 FP16 的 Cast(含融合到其他算子
                  符号整数转 FP16 溢出      中的 Cast)，保持 FP32 或缩小其输入
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
