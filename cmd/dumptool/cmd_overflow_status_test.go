package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"dumptool/internal/ui"

	"github.com/google/go-cmp/cmp"
)

// runStatus runs status with the given standard input.
func runStatus(t *testing.T, stdin io.Reader, args ...string) result {
	t.Helper()
	a, get := testApp(t)
	if stdin != nil {
		a.streams.In = stdin
	}
	return get(a.run(t.Context(), append([]string{"overflow", "status"}, args...)))
}

func TestStatusText(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args string // split at |
		code int
		want string
	}{
		"sample": {"272", 1, `aicore 272 (0x110), AI Core status
  bit 4  0x10   integer addition, subtraction, multiplication or multiply-add overflowed  check the range of the integers, above all index arithmetic
  bit 8  0x100  conversion from FP32 or INT32 to FP16 overflowed                          look for a Cast to FP16, also one fused into another operator, and keep its input in FP32 or scale it down
`},
		"chinese": {"--lang|zh|0x110", 1, `aicore 272 (0x110)，AI Core 状态
  第 4 位  0x10   整数加、减、乘或乘加溢出                     检查整数取值范围，尤其是下标计算
  第 8 位  0x100  FP32 转 FP16 或 32 位有符号整数转 FP16 溢出  查找转 FP16 的 Cast（含融合到其他算子中的 Cast），保持 FP32 或缩小其输入
`},
		"zero":         {"0", 0, "aicore 0 (0x0), AI Core status\n  no bit is set: no overflow\n"},
		"unknown only": {"2", 1, "aicore 2 (0x2), AI Core status\n  bit 1  0x2  not documented\n"},
		"unknown between": {"0xc10", 1, `aicore 3088 (0xc10), AI Core status
  bit 4   0x10   integer addition, subtraction, multiplication or multiply-add overflowed  check the range of the integers, above all index arithmetic
  bit 10  0x400  CUBE accumulation overflowed                                              look at the accumulation of MatMul or convolution: scale the inputs down, or use FP32 output and accumulation
  bit 11  0x800  not documented
`},
		"words": {"0|0x8|0", 1, `aicore 0 (0x0), AI Core status
  no bit is set: no overflow
aicore 8 (0x8), AI Core status
  bit 3  0x8  negation of the smallest signed integer overflowed  check the range of the integers, above all index arithmetic
aicore 0 (0x0), AI Core status
  no bit is set: no overflow
`},
		"code": {"--register|DHA|0x10901", 1, `dha 67841 (0x10901), DHA atomic add status (memory controller); any value above 0 is an overflow
  bit 0   0x1      not documented
  code 9  0xff00   atomic add overflowed (unofficial)  look at gradient accumulation or atomic reduction in FP16: accumulate in FP32
  bit 16  0x10000  not documented
`},
		"unknown code":  {"--register=l2|0x60000", 1, "l2 393216 (0x60000), L2 atomic add status (L2 cache); any value above 0 is an overflow\n  code 6  0x70000  not documented\n"},
		"code zero":     {"--register=sdma|0", 0, "sdma 0 (0x0), SDMA status\n  code 0  0x0  success\n"},
		"transfer":      {"--register=sdma|7", 0, "sdma 7 (0x7), SDMA status\n  code 7  0xffffffffffffffff  transfer fault: error of the DDR controller\n"},
		"reduction":     {"--register=sdma|11", 1, "sdma 11 (0xb), SDMA status\n  code 11  0xffffffffffffffff  reduction overflowed  look at gradient accumulation or atomic reduction in FP16: accumulate in FP32\n"},
		"aicpu":         {"--register=aicpu|0", 0, "aicpu 0 (0x0), AI CPU error code\n  no error code\n"},
		"errcode":       {"errcode:(0, 0x8000, 0)", 0, "aicerror 604462909807314587353088 (0x80000000000000000000), AIC_ERROR, error register of AI Core\n  bit 79  1<<79  ccu_bus_err: scalar access to global memory failed\n"},
		"errcode words": {"errcode:(0x8, 0, 0)", 1, "aicerror 8 (0x8), AIC_ERROR, error register of AI Core\n  bit 3  0x8  ccu_div0: scalar integer division by 0\n"},
		"no cause":      {"(0,0,0,0)|--register=aicerror", 0, "timeout or trap"},
		"950": {"--register|david_vec|0x10010", 1, `david-vec 65552 (0x10010), VEC errors of Ascend 950
  bit 4 (number 324)   0x10     not documented (outside the valid mask of 950)
  bit 16 (number 336)  0x10000  operand is Inf or NaN                           the input already holds Inf or NaN: look for the operator that made it, further up
`},
		"950 zero":       {"--register=david-sc|0", 0, "david-sc 0 (0x0), SC errors of Ascend 950\n  no bit is set\n"},
		"piece of log":   {"core id is 17, error code = 0x8", 1, "aicerror 8 (0x8), AIC_ERROR, error register of AI Core\n  bit 3  0x8  ccu_div0: scalar integer division by 0\n"},
		"list of words":  {"[0, 2]", 1, "aicore 0 (0x0), AI Core status\n  no bit is set: no overflow\naicore 2 (0x2), AI Core status\n  bit 1  0x2  not documented\n"},
		"after dashes":   {"--|2", 1, "aicore 2 (0x2), AI Core status\n  bit 1  0x2  not documented\n"},
		"python spelled": {"-register=aicore|-json=False|2", 1, "aicore 2 (0x2), AI Core status\n  bit 1  0x2  not documented\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := runStatus(t, nil, strings.Split(tt.args, "|")...)
			if name == "no cause" {
				wantContains(t, got.out, tt.want)
				got.out = tt.want
			}
			if diff := cmp.Diff(result{tt.code, tt.want, ""}, got, cmp.AllowUnexported(result{})); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStatusMistakes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args, want string
	}{
		"no number":     {"272|abc", `value "abc": 'a' is no decimal digit, hexadecimal numbers start with 0x`},
		"negative":      {"--|-5", `value "-5": registers have no sign`},
		"like a flag":   {"-5", "unknown flag: -5"},
		"too large":     {"0x1" + strings.Repeat("0", 64), "has more than 256 bits"},
		"broken words":  {"errcode:(1, 2)", "number of words is 2, wanted 3 or 4"},
		"no register":   {"--register|tpu|2", "--register tpu: no such register"},
		"no language":   {"--lang|fr|2", "must be en or zh"},
		"empty":         {"", "is empty"},
		"after results": {"2|-|0x", "no digits after 0x"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := runStatus(t, nil, strings.Split(tt.args, "|")...)
			if got.code != exitUsage || got.out != "" {
				t.Errorf("got %+v", got)
			}
			wantContains(t, got.err, tt.want)
			wantContains(t, got.err, "hint: see 'dumptool overflow status --help'")
		})
	}
}

// TestStatusJSON checks keys and their order.
func TestStatusJSON(t *testing.T) {
	t.Parallel()
	got := runStatus(t, nil, "--json", "0x114", "0")
	const want = `[
{"value":"0x114","register":"aicore","bits":[` +
		`{"mask":"0x10","name":"int_overflow","en":"integer addition, subtraction, multiplication or multiply-add overflowed","zh":"整数加、减、乘或乘加溢出","advice":"check the range of the integers, above all index arithmetic","numeric":true},` +
		`{"mask":"0x100","name":"fp16_conversion_overflow","en":"conversion from FP32 or INT32 to FP16 overflowed","zh":"FP32 转 FP16 或 32 位有符号整数转 FP16 溢出","advice":"look for a Cast to FP16, also one fused into another operator, and keep its input in FP32 or scale it down","numeric":true}` +
		`],"unknown":"0x4"},
{"value":"0x0","register":"aicore","bits":[],"unknown":"0x0"}
]
`
	if diff := cmp.Diff(result{exitFinding, want, ""}, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}

	got = runStatus(t, nil, "--json", "--lang", "zh", "--register", "dha", "0x900")
	wantContains(t, got.out, `"advice":"look at gradient accumulation or atomic reduction in FP16: accumulate in FP32","code":9,"numeric":true,"unofficial":true}`)
	got = runStatus(t, nil, "--json", "--register", "david-cube", "0x1")
	wantContains(t, got.out, `"advice":"","number":0,"note":"outside the valid mask of 950"}`)
	got = runStatus(t, strings.NewReader("nothing\n"), "--json")
	if want := (result{exitNothing, "[]\n", "dumptool: no value found in 1 line\n"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

const statusLog = `[ERROR] RUNTIME(1,python): there is an error of aicore, core id is 3, error code = 0x800000, dump info: pc start: 0x1240
2024-11-20 14:03:12 pid 1234 stream 563 took 32 ms
The extend info: errcode:(0, 0x8000, 0) errorStr: x
{
    "AI Core": {
        "status": 272
    }
}
2
`

// TestStatusStdin pipes a log through.
func TestStatusStdin(t *testing.T) {
	t.Parallel()
	heads := func(out string) string {
		var lines []string
		for line := range strings.Lines(out) {
			if !strings.HasPrefix(line, " ") {
				lines = append(lines, strings.TrimSuffix(line, "\n"))
			}
		}
		return strings.Join(lines, "\n")
	}
	const log = `line 1: aicerror 8388608 (0x800000), AIC_ERROR, error register of AI Core
line 3: aicerror 604462909807314587353088 (0x80000000000000000000), AIC_ERROR, error register of AI Core
line 6: aicore 272 (0x110), AI Core status
line 9: sdma 2 (0x2), SDMA status`
	long := strings.Repeat("x", ui.MaxLine) + " status: 32\r\n8"
	tests := map[string]struct {
		in   string
		args []string
		code int
		want string
		err  string
	}{
		"log":        {statusLog, []string{"--register", "sdma"}, 1, log, ""},
		"dash":       {statusLog, []string{"--register", "sdma", "0", "-"}, 1, "sdma 0 (0x0), SDMA status\n" + log, ""},
		"no newline": {"\n2", nil, 1, "line 2: aicore 2 (0x2), AI Core status", ""},
		"chinese":    {"2\r\n", []string{"--lang=ZH"}, 1, "第 1 行：aicore 2 (0x2)，AI Core 状态", ""},
		"harmless":   {"errcode:(0x10, 0, 0)\n0\n", nil, 0, "line 1: aicerror 16 (0x10), AIC_ERROR, error register of AI Core\nline 2: aicore 0 (0x0), AI Core status", ""},
		"nothing":    {"no\nvalue\n", nil, 4, "", "dumptool: no value found in 2 lines\n"},
		"empty":      {"", nil, 4, "", "dumptool: no value found in 0 lines\n"},
		"long line":  {long, nil, 1, "line 2: aicore 8 (0x8), AI Core status", "dumptool: warning: stdin: line 1 is longer than 1048576 bytes: the rest of it is left out\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := runStatus(t, strings.NewReader(tt.in), tt.args...)
			if got.code != tt.code || heads(got.out) != tt.want || got.err != tt.err {
				t.Errorf("got %+v\nwant %d\n%s\n%s", got, tt.code, tt.want, tt.err)
			}
		})
	}
	t.Run("json", func(t *testing.T) {
		t.Parallel()
		var values []map[string]any
		got := runStatus(t, strings.NewReader(statusLog), "-json")
		if err := json.Unmarshal([]byte(got.out), &values); err != nil || len(values) != 4 || len(values[0]) != 4 {
			t.Errorf("%v: %s", err, got.out)
		}
	})
	t.Run("read error", func(t *testing.T) {
		t.Parallel()
		got := runStatus(t, io.MultiReader(strings.NewReader("2\n"), iotest.ErrReader(errors.New("disk on fire"))))
		if got.code != exitIncomplete || heads(got.out) == "" {
			t.Errorf("got %+v", got)
		}
		wantContains(t, got.err, "dumptool: cannot read stdin: disk on fire\n")
	})
}

// TestStatusInterrupted ends a run whose input does not come to an end.
func TestStatusInterrupted(t *testing.T) {
	t.Parallel()
	in, writer := io.Pipe()
	defer writer.Close()
	ctx, cancel := context.WithCancel(t.Context())
	a, get := testApp(t)
	a.streams.In = in
	go func() {
		_, _ = io.WriteString(writer, "2\nx\n") // ends when both lines have been read
		cancel()
	}()
	got := get(a.run(ctx, []string{"overflow", "status"}))
	if got.code != exitInterrupted || got.err != "dumptool: interrupted\n" {
		t.Errorf("got %+v", got)
	}
}
