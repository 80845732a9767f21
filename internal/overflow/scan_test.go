package overflow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

func TestScan(t *testing.T) {
	tr := newTree(t)
	const dir = "20260101000000/0/net/11/"
	tr.op(dir+"0/Add.good.1.1.1700000000000001", "net/good", one, one)
	tr.op(dir+"0/Add.second.3.1.1700000000000003", "net/second", inf, inf)
	tr.op(dir+"0/Add.first.2.1.1700000000000002", "net/first", one, most)
	tr.op(dir+"1/Add.earlier.1.1.1600000000000000", "net/next step", one, nan)
	tr.op("20260101000000/1/net/11/0/Add.x.1.1.1700000000000009", "net/x", one, inf)
	tr.record(dir+"0/Opdebug.Node_OpDebug.1.1.1700000000000002", oldRecord(1, 1, 0x20))
	tr.file(dir+"0/Sub.cut.1.1.1700000000000004", []byte("short"))
	tr.file(dir+"0/notes.txt", []byte("no dump"))
	for _, workers := range []int{1, 5} {
		r, err := Scan(t.Context(), tensorfile.Find([]string{tr.root}, tensorfile.FindOptions{}), Options{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range r.Rows {
			row := &r.Rows[i]
			got = append(got, fmt.Sprintf("%s %s %s first=%v %s", row.Place.Device, row.Place.Step, row.OpName, row.First, row.Verdict))
		}
		want := []string{
			"0 0 net/first first=true produced here", "0 0 net/second first=false came in",
			"0 1 net/next step first=false produced here", "1 0 net/x first=true produced here",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if r.Files != 5 || r.Tensors != 10 || r.BadFiles != 4 || len(r.Problems) != 1 {
			t.Errorf("%d files, %d tensors, %d bad, problems %v", r.Files, r.Tensors, r.BadFiles, r.Problems)
		}
	}
	all, err := Scan(t.Context(), tensorfile.Find([]string{tr.root}, tensorfile.FindOptions{}), Options{All: true})
	if err != nil || len(all.Rows) != 5 || all.Rows[0].OpName != "net/good" {
		t.Errorf("%d rows, error %v", len(all.Rows), err)
	}
}

// TestJudge is the table of verdicts.
func TestJudge(t *testing.T) {
	clean, bad := &Census{Count: 1}, &Census{Count: 1, NaN: 1}
	tensor := func(kind tensorfile.Kind, c *Census) Tensor {
		if c == nil {
			return Tensor{Kind: kind, Err: fmt.Errorf("unreadable")}
		}
		return Tensor{Kind: kind, Census: c}
	}
	const in, out = tensorfile.Input, tensorfile.Output
	tests := []struct {
		name    string
		tensors []Tensor
		want    Verdict
	}{
		{"nothing", nil, CannotTell},
		{"clean in, bad out", []Tensor{tensor(in, clean), tensor(out, bad)}, ProducedHere},
		{"bad in, bad out", []Tensor{tensor(in, clean), tensor(in, bad), tensor(out, bad)}, CameIn},
		{"bad in, clean out", []Tensor{tensor(in, bad), tensor(out, clean)}, CameIn},
		{"all clean", []Tensor{tensor(in, clean), tensor(out, clean)}, ProcessOverflow},
		{"no inputs", []Tensor{tensor(out, bad)}, CannotTell},
		{"no inputs, clean", []Tensor{tensor(out, clean)}, CannotTell},
		{"unreadable input", []Tensor{tensor(in, nil), tensor(out, bad)}, CannotTell},
		{"unreadable, yet a bad input", []Tensor{tensor(in, nil), tensor(in, bad), tensor(out, bad)}, CameIn},
	}
	for _, tt := range tests {
		if got, why := judge(tt.tensors); got != tt.want || why.EN == "" || why.ZH == "" {
			t.Errorf("%s: %s (%v), want %s", tt.name, got, why, tt.want)
		}
	}
}

// TestOrdinaryValues: constants that look like traces of a conversion, and
// tensors that cannot overflow, blame nobody.
func TestOrdinaryValues(t *testing.T) {
	traces, bad := &Census{Count: 1, HalfTraces: 1}, &Census{Count: 1, PosInf: 1}
	text := Tensor{Kind: tensorfile.Input, DType: tensor.String, Err: &tensor.UnsupportedType{DType: tensor.String}}
	unknown := Tensor{Kind: tensorfile.Input, DType: 99, Err: &tensor.UnsupportedType{DType: 99}}
	in, out := Tensor{Kind: tensorfile.Input, Census: traces}, Tensor{Kind: tensorfile.Output, Census: bad}
	if got, _ := judge([]Tensor{in, text, out}); got != ProducedHere || in.Bad() || !text.NotNumeric() {
		t.Errorf("%s", got)
	}
	if got, _ := judge([]Tensor{in, unknown, out}); got != CannotTell || unknown.NotNumeric() {
		t.Errorf("%s", got)
	}
	broken := Tensor{Kind: tensorfile.Output, DType: tensor.Float16, Err: fmt.Errorf("cut")}
	if got, _ := judge([]Tensor{in, out, broken}); got != ProducedHere {
		t.Errorf("%s", got)
	}
}

// TestScanKeepsOtherDevices: an array is left out beside its dump only, not
// because another device has a dump of that name.
func TestScanKeepsOtherDevices(t *testing.T) {
	tr := newTree(t)
	const name = "Add.x.5.3.1700000000000010"
	tr.op("20240101000000/0/m/1/0/"+name, "net/x", one, one)
	header := "\x93NUMPY\x01\x00\x76\x00{'descr': '<f2', 'fortran_order': False, 'shape': (1,), }"
	header += strings.Repeat(" ", 127-len(header)) + "\n"
	tr.file("20240101000000/1/m/1/0/"+name+".output.0.npy", []byte(header+"\x00\x7c"))
	tr.file("20240101000000/0/m/1/0/"+name+".output.0.npy", []byte(header+"\x00\x7c"))
	r, err := Scan(t.Context(), tensorfile.Find([]string{tr.root}, tensorfile.FindOptions{}), Options{})
	if err != nil || r.Files != 2 || r.BadFiles != 1 || r.Rows[0].Place.Device != "1" {
		t.Errorf("%+v, error %v", r, err)
	}
}
