package statusreg

import (
	"fmt"
	"strings"
	"testing"
)

// show writes findings on one line.
func show(found []FoundValue) string {
	var parts []string
	for _, f := range found {
		parts = append(parts, fmt.Sprintf("%v %v", f.Register, f.Value))
	}
	return strings.Join(parts, ", ")
}

const (
	coreLog = "[ERROR] RUNTIME(1234,python):2024-11-20-14:03:12.123.456 [device_error_proc.cc:1415]5678 ProcessCoreErrorInfo:" +
		"report error module_type=0, The error from device(chipId:0, dieId:1), serial number is 3, there is an error of aicore, core id is 17, "
	oldLog = "[ERROR] RUNTIME(1234,python):2024-11-20-14:03:12.123.456 [device_error_proc.cc:1415]5678 " +
		"The device(3), core list[0-7], serial number is 3, there is an error of aivec, core id is 31, "
	dumpInfo = ", dump info: pc start: 0x12408027d02c, current: 0x12408027d1f0, vec error info: 0x1000002d, mte error info: 0x3000084, " +
		"ifu error info: 0x24021e0, ccu error info: 0, cube error info: 0, biu error info: 0, aic error mask: 0x65000200d000288, para base: 0x124100170000."
)

func TestFindInText(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		// Logs of the runtime.
		{oldLog + "error code = 0x800000" + dumpInfo, "aicerror 0x800000"},
		{oldLog + "error code = 0" + dumpInfo, "aicerror 0x0"},
		{oldLog + "error code = 0x10000000000000000000" + dumpInfo, "aicerror 0x10000000000000000000"},
		{coreLog + "error code = 258, 336, dump info: pc start: 0x1240", "david-su 0x4, david-vec 0x10000"},
		{coreLog + "error code = [4]", "david-cube 0x10"},
		{coreLog + "error code = 0, dump info", "david-cube 0x1"},
		{coreLog + "error code = 384, dump info", ""},
		{"error code = 0x10", "aicerror 0x10"},
		{"The extend info: errcode:(0, 0x8000, 0) errorStr: The DDR address of the MTE instruction is out of range. " +
			"fixp_error0 info: 0x3000084, fixp_error1 info: 0x8a, fsmId:1, tslot:3, thread:0, ctxid:0, blk:0, sublk:0, subErrType:4.",
			"aicerror " + Bit(79).String()},
		{"errcode:(0, 0, 0, 0) errorStr: timeout or trap error", "aicerror 0x0"},
		{"errcode:(1, 0, 0) and ERRCODE:(2, 0, 0)", "aicerror 0x1, aicerror 0x2"},
		{"errcode:(1, 2)", ""},
		{"AICORE_INFO_START device_id=0 AIC_ERROR=0x20 PC_START=0x1000 CURRENT_PC=0x1004", "aicerror 0x20"},
		{"aic error: 0x48, aic error mask: 0x65000200d000288", "aicerror 0x48"},
		{"dha status 1 info: 0x900", "dha 0x900"},
		{"dha status 1 info: 0x900, dha status 2 info: 0", "dha 0x900, dha 0x0"},

		// Overflow records.
		{"status: 272", "none 0x110"},
		{"  Status = 0x110", "none 0x110"},
		{"- status: 272 (0x110)", "none 0x110"},
		{`    "status": 32`, "none 0x20"},
		{`"status": "0x20",`, "none 0x20"},
		{`"status": [0, 32, 0, 256]`, "none 0x0, none 0x20, none 0x0, none 0x100"},
		{"Status:[0, 32, 0, 256]", "none 0x0, none 0x20, none 0x0, none 0x100"},
		{" [AI Core][TaskId:57][StreamId:563][Status:32]", "aicore 0x20"},
		{" [AIV][TaskId:57][StreamId:563][Status:[0, 32, 0, 256]]", "aicore 0x0, aicore 0x20, aicore 0x0, aicore 0x100"},
		{" [DHA Atomic Add][TaskId:57][StreamId:563][Status:2304]", "dha 0x900"},
		{" [SDMA][TaskId:57][StreamId:563][Status:11]", "sdma 0xb"},
		{" [AICPU][TaskId:57][StreamId:563][Status:3]", "aicpu 0x3"},
		{"L2 Atomic Add status: 0x10000 in rank 3", "l2 0x10000"},
		{"model_id: 514, pc_start: 0x1008005b0000, block_idx: 1, status: 32", "none 0x20"},
		{`{"AI Core":{"block_idx":1,"kernel_code":"0x0","status":272},"DHA Atomic Add":{"model_id":0,"status":2304},"L2 Atomic Add":{"status":0}}`,
			"aicore 0x110, dha 0x900, l2 0x0"},
		{`{"acc_type": "SDMA", "data": {"channel_id": 3, "status": 12}}`, "sdma 0xc"},

		// Plain numbers.
		{"272", "none 0x110"},
		{" 0x110\r", "none 0x110"},
		{"272 0x20", "none 0x110, none 0x20"},
		{"[0, 32, 0, 256],", "none 0x0, none 0x20, none 0x0, none 0x100"},
		{"0x0000_0110", "none 0x110"},

		// Anything else is not a value.
		{"", ""},
		{"[]", ""},
		{"2024-11-20", ""},
		{"14:03:12", ""},
		{"1.5", ""},
		{"-3", ""},
		{"task 57", ""},
		{"2024-11-20 14:03:12 pid 1234 stream 563 took 32 ms, 0x1240 bytes", ""},
		{"Opdebug.Node_OpDebug.57.563.1732082705016774", ""},
		{"process 17 ended, exit status: 1", ""},
		{"GET /index.html, status: 404", ""},
		{"status: 200 OK", ""},
		{"status: 12.5", ""},
		{"status: 50%", ""},
		{"status: 10:30", ""},
		{"status: 1234x", ""},
		{"task_status: 3", ""},
		{`"task_status": 3`, ""},
		{`"status": "running"`, ""},
		{`"status": 12.5`, ""},
		{`"status_hex": "0x20"`, ""},
		{"[request 12][status: 404]", ""},
		{"call aclrtSynchronizeStream failed, error code = 507015", ""},
		{"halMemAlloc failed, error code = 0x6", ""},
		{"error code = 507015", ""},
		{"aicore task failed, error code = 12", ""},
		{"aic error: 3 cores are gone", ""},
		{"the error code = 0x10.5 of aicore", ""},
		{"errcode:(1, 2, x)", ""},
		{"errcode:(1, 2, 3", ""},
		{"\xff\xfe status: \xff", ""},
		{"0x" + strings.Repeat("f", 65), ""},
	} {
		found := FindInText(c.line)
		if got := show(found); got != c.want {
			t.Errorf("%q: found %s, want %s", c.line, got, c.want)
		}
		checkFound(t, c.line, found)
	}
}

func TestFoundText(t *testing.T) {
	found := FindInText("core id is 3, error code = 0x800000 of aicore; errcode:(0, 0x8000, 0); dha status 1 info: 0x900")
	for i, want := range []string{"0x800000", "errcode:(0, 0x8000, 0)", "0x900"} {
		if i >= len(found) || found[i].Text != want {
			t.Errorf("finding %d is not %q: %+v", i, want, found)
		}
	}
}

// TestFinder: in indented JSON the unit and the status are on different lines.
func TestFinder(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"old layout", `{
    "DHA Atomic Add": {
        "model_id": 0,
        "pc_start": "0x0",
        "status": 2304
    },
    "L2 Atomic Add": {
        "status": 65536
    },
    "AI Core": {
        "status": 272
    }
}
status: 32
`, "dha 0x900, l2 0x10000, aicore 0x110, none 0x20"},
		{"list", `{
    "magic": "0x5a5a5a5a",
    "acc_list": {
        "acc_type": "AIV",
        "data": {
            "status": [
                0,
                32,
                0,
                256
            ]
        }
    }
}
7
`, "aicore 0x0, aicore 0x20, aicore 0x0, aicore 0x100, none 0x7"},
		{"two files", `{
    "acc_type": "SDMA",
    "status": 11
}{
    "acc_type": 9,
    "status": 5
}
`, "sdma 0xb, none 0x5"},
		{"one line each", `{"AI Core":{"status":32}}
"status": 5
`, "aicore 0x20, none 0x5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var finder Finder
			var found []FoundValue
			for line := range strings.Lines(c.text) {
				found = append(found, finder.Find(line)...)
			}
			if got := show(found); got != c.want {
				t.Errorf("found %s, want %s", got, c.want)
			}
		})
	}
}

func checkFound(t *testing.T, line string, found []FoundValue) {
	t.Helper()
	rest := line
	for _, f := range found {
		_, after, ok := strings.Cut(rest, f.Text)
		if !ok || f.Text == "" {
			t.Errorf("%q: %q is not in the line or out of order", line, f.Text)
		}
		rest = after
		var want Value
		var err error
		if strings.HasSuffix(f.Text, ")") {
			want, err = ParseErrcode(f.Text)
		} else {
			want, err = ParseValue(f.Text)
		}
		if err != nil || want != f.Value && f.Register < DavidCube {
			t.Errorf("%q: %q is %v, found %v: %v", line, f.Text, want, f.Value, err)
		}
	}
}

func TestParseText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Value{"272": {272}, "0x110": {272}, "aicore errcode:(0, 0x8000, 0)": {0, 0x8000}} {
		found, err := ParseText(text)
		if err != nil || len(found) != 1 {
			t.Errorf("%q: %v, %v, want one value", text, found, err)
		}
		if n, err := ParseValue(text); err == nil && (n != want || found[0].Value != n) {
			t.Errorf("%q: %v, want %v", text, found[0].Value, want)
		}
	}
	for text, want := range map[string]string{"-1": "registers have no sign", "word": `"word"`, "errcode:(1": "errcode"} {
		if found, err := ParseText(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, error %v, want one with %s", text, found, err, want)
		}
	}
}
