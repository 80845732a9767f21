package dumpdir

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"

	"github.com/google/go-cmp/cmp"
)

// dump is a dump of an operator with an input and some outputs.
func dump(t *testing.T, op string, outputs int) string {
	t.Helper()
	one := func() dumptest.TensorContent {
		return dumptest.TensorContent{Payload: dumptest.Bytes([]byte{1, 2}), StoredDType: 2, Shape: []uint64{2}}
	}
	c := &dumptest.Content{Container: dumpfmt.BinaryV2, OpName: op, DumpTime: 7, Inputs: []dumptest.TensorContent{one()}}
	for i := range outputs {
		out := one()
		if i == 1 {
			out.OriginalOp = &dumptest.OriginalContent{Name: "model/" + op, Index: 3}
		}
		c.Outputs = append(c.Outputs, out)
	}
	var b bytes.Buffer
	if err := dumptest.Write(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestReadHeaders: headers list the tensors and the full names of operators, and identify unknown
// files.
func TestReadHeaders(t *testing.T) {
	whole := dump(t, "net/conv", 2)
	r := open(t, map[string]string{
		"20200808163566/0/net/11/0/Conv2D.net_conv.1.2." + stamp1:          whole,
		"20200808163566/0/net/11/0/1234567890":                             dump(t, "net/long", 1),
		"20200808163566/0/net/11/0/notes":                                  "text",
		"20200808163566/0/net/11/0/Relu.cut.1.2." + stamp2:                 whole[:len(whole)-1],
		"20200808163566/0/net/11/0/Relu.bad.1.2." + stamp3:                 "no dump",
		"20200808163566/0/net/11/0/Relu.record.1.2." + stamp3:              dump(t, "Node_OpDebug", 1),
		"20200808163566/0/net/11/0/Add.table.1.2.1624605159829580.csv":     "Input/Output,Index,Max Value\nInput,0,1\nOutput,0,2\n",
		"20200808163566/0/net/11/0/Add.piece.1.2.1624605159829581.4.1.0.0": dump(t, "net/piece", 1),
		"20200808163566/0/net/11/0/Add.piece.1.2.1624605159829582.4.1.1.0": dump(t, "net/piece", 1),
		"20200808163566/0/net/11/1/99":                                     dump(t, "net/next", 1),
	})
	before := []string{"rank 0 step 0 graph 11 model net: net_conv(*) cut(*) bad(*) record(*) table(*t) piece(*,*)"}
	if diff := cmp.Diff(before, rounds(r)); diff != "" {
		t.Error(diff)
	}
	if err := r.ReadHeaders(context.Background(), HeaderOptions{}); err != nil {
		t.Fatal(err)
	}
	after := []string{
		"rank 0 step 0 graph 11 model net: net/long(i0,o0) net_conv(i0,o0,o1) cut(i0,o0,o1) bad(*) table(i0t,o0t) piece(i00,o00,i01,o01)",
		"rank 0 step 1 graph 11 model net: net/next(i0,o0)",
	}
	if diff := cmp.Diff(after, rounds(r)); diff != "" {
		t.Error(diff)
	}
	op := r.Rounds[0].Ops[1]
	if diff := cmp.Diff([]Origin{{Index: 1, Op: "model/net/conv", Output: 3}}, op.Origins); diff != "" || op.Header != "net/conv" {
		t.Errorf("header %q\n%s", op.Header, diff)
	}
	if s := r.Rounds[0].Ops[4].Tensors[1].Statistics; s == nil || *s.Number(Max) != 2 {
		t.Errorf("statistics %+v", s)
	}
	if len(r.Records) != 1 || !strings.Contains(r.Records[0].File.Name, "record") {
		t.Errorf("records %+v", r.Records)
	}
	at := "rank 0 step 0 graph 11 model net"
	want := []string{
		"cut|20200808163566/0/net/11/0/Relu.cut.1.2." + stamp2 + "|" + at,
		"unreadable|20200808163566/0/net/11/0/Relu.bad.1.2." + stamp3 + "|" + at,
	}
	if diff := cmp.Diff(want, problems(r)); diff != "" {
		t.Error(diff)
	}
}

// TestHeadersOfEmptyFiles: an empty file is one problem, unless its name gives a shape without
// elements.
func TestHeadersOfEmptyFiles(t *testing.T) {
	r := open(t, map[string]string{"rank_0/Net/0/1/A.x.1.2." + stamp1: "", "rank_0/Net/0/1/b_output_0_shape_0_Float16_DefaultFormat.bin": ""})
	if err := r.ReadHeaders(context.Background(), HeaderOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"cut|rank_0/Net/0/1/A.x.1.2." + stamp1 + "|rank 0 step 1 graph 0 model Net"}, problems(r)); diff != "" {
		t.Error(diff)
	}
}

// TestReadHeadersOfOneFile: a file given by the user must hold tensors.
func TestReadHeadersOfOneFile(t *testing.T) {
	root := t.TempDir()
	write(t, root, named("notes"))
	r := openAt(t, root+"/notes", Options{})
	if err := r.ReadHeaders(context.Background(), HeaderOptions{}); err != nil || len(r.Problems) != 1 || r.Problems[0].Kind != Unreadable {
		t.Errorf("%v, problems %v", err, r.Problems)
	}
}
