package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/opdebug"
	"dumptool/internal/tensor"
)

// TestMain lets this binary also act as dumptool, which the scripts run as a separate process.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"dumptool": main})
}

// TestScripts runs testdata/script/*.txtar.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			golden, err := filepath.Abs(filepath.Join("..", "..", "testdata", "golden", "convert"))
			if err != nil {
				return err
			}
			env.Setenv("GOLDEN", golden)
			env.Setenv("GOLDEN_COMPARE", filepath.Join(filepath.Dir(golden), "compare"))
			env.Setenv("NETWORK", filepath.Join(filepath.Dir(filepath.Dir(golden)), "network"))
			env.Setenv("SELF", filepath.Join(filepath.Dir(golden), "recompute", "nets", "s7303_strong"))
			env.Setenv("UNWRITTEN", filepath.Join(filepath.Dir(filepath.Dir(golden)), "..", "internal", "format", "hdf5", "testdata", "unwritten.h5"))
			env.Setenv("SAMPLE", filepath.Join(filepath.Dir(filepath.Dir(golden)), "sample"))
			env.Setenv("CONV", filepath.Join(filepath.Dir(filepath.Dir(golden)), "sample", "Conv2D.Default_network__backbone_conv1_Conv2D-op515.58.16.1624605159829577"))
			env.Setenv("HANDED", filepath.Join(filepath.Dir(filepath.Dir(golden)), "handed"))
			env.Setenv("CONTAINERS", filepath.Join(filepath.Dir(filepath.Dir(golden)), "containers"))
			testdata, err := filepath.Abs("testdata")
			env.Setenv("TESTDATA", testdata)
			// The settings of the person who runs the tests are not used.
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/.config")
			env.Setenv("LC_ALL", "C")
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"bigdump":   makeBigDump,
			"bytes":     makeBytes,
			"dump":      makeDump,
			"empty":     checkEmpty,
			"npy":       makeNpy,
			"overflows": makeOverflows,
			"status":    runForStatus,
			"waitfor":   waitForFile,
		},
	})
}

// runForStatus runs "status N COMMAND...": the command must exit with N.
func runForStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// makeBigDump makes "bigdump FILE SIZE": a dump with one float16 tensor of zeros of that many
// bytes. It is sparse on disk.
func makeBigDump(ts *testscript.TestScript, _ bool, args []string) {
	size, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	defer f.Close()
	var header headerOnly
	err = dumptest.Write(&header, &dumptest.Content{Container: dumpfmt.BinaryV2, Outputs: []dumptest.TensorContent{{
		Payload:     dumptest.Payload{Size: size, Data: zeros{}},
		StoredDType: int32(tensor.Float16), StoredFormat: tensor.FormatWord(tensor.ND), Shape: []uint64{uint64(size / 2)},
	}}})
	if !errors.Is(err, errEnough) {
		ts.Fatalf("header: %v", err)
	}
	_, err = f.Write(header)
	ts.Check(err)
	ts.Check(f.Truncate(int64(len(header)) + size))
}

// makeBytes makes "bytes FILE TEXT": a file of a text with the escapes of Go.
func makeBytes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: bytes file text")
	}
	data, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(data), 0o666))
}

// makeDump makes "dump FILE OP TYPE FORMAT SHAPE VALUE...": a dump of the operator
// OP with one output, whose elements are the values, over and over.
func makeDump(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 6 {
		ts.Fatalf("usage: dump file op type format shape value...")
	}
	dtype, ok := tensor.ParseDType(args[2])
	format, ok2 := tensor.ParseFormat(args[3])
	if !ok || !ok2 {
		ts.Fatalf("no type %s or format %s", args[2], args[3])
	}
	out := dumptest.TensorContent{StoredDType: int32(dtype), StoredFormat: tensor.FormatWord(format)}
	count := uint64(1)
	for dim := range strings.SplitSeq(args[4], ",") {
		d, err := strconv.ParseUint(dim, 10, 32)
		ts.Check(err)
		out.Shape, count = append(out.Shape, d), count*d
	}
	var data []byte
	for k := range count {
		var err error
		data, err = appendElement(data, dtype.Host(), args[5:][k%uint64(len(args)-5)])
		ts.Check(err)
	}
	out.Payload = dumptest.Bytes(data)
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o777))
	f, err := os.Create(path)
	ts.Check(err)
	ts.Check(dumptest.Write(f, &dumptest.Content{Container: dumpfmt.BinaryV2, OpName: args[1], Outputs: []dumptest.TensorContent{out}}))
	ts.Check(f.Close())
}

// zeros is an endless reader of zeros.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// headerOnly keeps the first write to it, which is the header of a dump.
type headerOnly []byte

var errEnough = errors.New("enough")

func (h *headerOnly) Write(p []byte) (int, error) {
	if len(p) > 4096 {
		return 0, errEnough
	}
	*h = append(*h, p...)
	return len(p), nil
}

var _ io.Writer = (*headerOnly)(nil)

// checkEmpty checks "empty DIR": no file is in it.
func checkEmpty(ts *testscript.TestScript, _ bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	for _, e := range entries {
		ts.Fatalf("%s is left", e.Name())
	}
}

// waitForFile waits for "waitfor PATTERN": until a matching file exists.
func waitForFile(ts *testscript.TestScript, _ bool, args []string) {
	for range 1000 {
		if found, err := filepath.Glob(ts.MkAbs(args[0])); err != nil || len(found) > 0 {
			ts.Check(err)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Fatalf("no file %s", args[0])
}

// makeOverflows makes "overflows DIR RANKS STEPS TYPE.NAME...": a run in which every
// operator overflows on every rank and in every step, with its dump and its record.
// The first one makes +Inf of ones, the others get it.
func makeOverflows(ts *testscript.TestScript, _ bool, args []string) {
	ranks, err := strconv.Atoi(args[1])
	ts.Check(err)
	steps, err := strconv.Atoi(args[2])
	ts.Check(err)
	for rank := range ranks {
		for step := range steps {
			dir := ts.MkAbs(filepath.Join(args[0], "20260101120000", strconv.Itoa(rank), "net", "1", strconv.Itoa(step)))
			ts.Check(os.MkdirAll(dir, 0o777))
			for i, op := range args[3:] {
				in, task, stamp := uint16(0x7c00), 10+i, 1767268800000000+rank*1000000000+step*1000000+i*100
				if i == 0 {
					in = 0x3c00
				}
				writeDump(ts, filepath.Join(dir, fmt.Sprintf("%s.%d.1.%d", op, task, stamp)), &dumptest.Content{OpName: filepath.Ext(op)[1:],
					Inputs: []dumptest.TensorContent{halves(0x3c00, in)}, Outputs: []dumptest.TensorContent{halves(0x3c00, 0x7c00)}})
				record := &opdebug.Record{Generation: opdebug.OldLayout, Size: opdebug.BufferSize, Areas: []opdebug.Area{
					{Unit: opdebug.DHA, Status: []uint64{0}}, {Unit: opdebug.L2, Status: []uint64{0}},
					{Unit: opdebug.AICore, TaskID: uint64(task), StreamID: 1, Status: []uint64{0x100}}}}
				writeDump(ts, filepath.Join(dir, fmt.Sprintf("Opdebug.Node_OpDebug.%d.1.%d", task, stamp+10)), &dumptest.Content{OpName: "Node_OpDebug",
					Outputs: []dumptest.TensorContent{{Payload: dumptest.Bytes(dumptest.EncodeRecord(record)), StoredDType: int32(tensor.Uint8),
						StoredFormat: tensor.FormatWord(tensor.ND), Shape: []uint64{opdebug.BufferSize}}}})
			}
		}
	}
}

// halves is a tensor of float16 codes.
func halves(codes ...uint16) dumptest.TensorContent {
	var data []byte
	for _, c := range codes {
		data = append(data, byte(c), byte(c>>8))
	}
	return dumptest.TensorContent{Payload: dumptest.Bytes(data), StoredDType: int32(tensor.Float16),
		StoredFormat: tensor.FormatWord(tensor.ND), Shape: []uint64{uint64(len(codes))}}
}

func writeDump(ts *testscript.TestScript, path string, c *dumptest.Content) {
	f, err := os.Create(path)
	ts.Check(err)
	defer f.Close()
	c.Container = dumpfmt.BinaryV2
	ts.Check(dumptest.Write(f, c))
}
