package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPair: a call and its gradients become operators with the same numbers, and the truth has their names. A pair
// with only modules is left out.
func TestPair(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	leaf := func(top string) string {
		return `{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2, 2], "Max": ` + top + `, "Min": -1, "Mean": null, "Norm": 12.3456789}`
	}
	dump := `{"task": "statistics", "data": {
		"Functional.linear.0.forward": {"input_args": [` + leaf("1.5") + `, ` + leaf("2.5") + `], "output": [` + leaf("Infinity") + `]},
		"Module.fc.Linear.forward.0": {"input_args": [` + leaf("7") + `], "output": [` + leaf("7") + `]},
		"Functional.linear.0.backward": {"input": [` + leaf("3.5") + `], "output": [` + leaf("4.5") + `, ` + leaf("5.5") + `]}}}`
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(in, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	modules := `{"task": "statistics", "data": {"Module.fc.Linear.forward.0": {"output": [` + leaf("7") + `]}}}`
	for _, side := range []string{"cpu", "npu"} {
		write("s1/"+side+"/dump.json", dump)
		write("s2/"+side+"/dump.json", modules)
		write("s3/"+side+"/dump.json", dump)
	}
	write("s1/expect.json", `{"kind": "zero", "origins": ["Functional.linear.0.backward"], "start": ["Functional.linear.0.forward.input_args.1"]}`)
	write("s2/expect.json", `{"kind": "clean", "origins": [], "start": []}`)
	write("s3/expect.json", `{"kind": "zero", "origins": ["Module.fc.Linear.forward.0"], "start": []}`)
	var stdout bytes.Buffer
	if err := run([]string{"-out", out, in}, &stdout); err != nil || stdout.String() != "1 of 3 pairs\n" {
		t.Fatalf("%q, %v", stdout.String(), err)
	}
	text, err := os.ReadFile(filepath.Join(out, "s1", "npu", "rank_0", "Net", "0", "0", "statistic.csv"))
	if err != nil {
		t.Fatal(err)
	}
	const forward, gradient = "MatMul,Default/network-Net/linear/MatMul-op0,0,0,1718000000000000,", "MatMul,Gradients/Default/network-Net/gradMatMul/MatMul-op"
	rest := func(top string) string { return `,16,float32,"(2, 2)",` + top + ",-1,null,12.3457," }
	want := []string{strings.Join(titles, ","),
		forward + "input,0" + rest("1.5"), forward + "input,1" + rest("2.5"), forward + "output,0" + rest("inf"),
		gradient + "4,1,0,1718000000000010,input,0" + rest("3.5"), gradient + "4,1,0,1718000000000010,input,1" + rest("2.5"), gradient + "4,1,0,1718000000000010,output,0" + rest("4.5"),
		gradient + "5,2,0,1718000000000020,input,0" + rest("3.5"), gradient + "5,2,0,1718000000000020,input,1" + rest("1.5"), gradient + "5,2,0,1718000000000020,output,0" + rest("5.5"), ""}
	if got := string(text); got != strings.Join(want, "\n") {
		t.Errorf("found\n%swant\n%s", got, strings.Join(want, "\n"))
	}
	text, err = os.ReadFile(filepath.Join(out, "s1", "expect.json"))
	if err != nil {
		t.Fatal(err)
	}
	var truth struct{ Origins, Start []string }
	if err := json.Unmarshal(text, &truth); err != nil {
		t.Fatal(err)
	}
	if len(truth.Origins) != 2 || truth.Origins[0] != "Gradients/Default/network-Net/gradMatMul/MatMul-op4" ||
		len(truth.Start) != 1 || truth.Start[0] != "Default/network-Net/linear/MatMul-op0.input.1" {
		t.Errorf("%+v", truth)
	}
}
