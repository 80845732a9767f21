package dumpdir

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

func TestStemCut(t *testing.T) {
	for _, test := range []struct{ own, other, name, want string }{ // an empty want for files of others
		{"", "", "a.npy", "a.npy"},
		{"ref_", "npu_", "ref_a.npy", "a.npy"},
		{"ref", "npu", "ref_a.b.npy", "a.b.npy"},
		{"ref", "npu", "a.ref.npy", "a.npy"},
		{"ref", "npu", "a_npu.npy", ""},
		{"ref", "npu", "a.npy", ""},
		{"ref", "npu", "ref.npy", ""},
		{"out", "out_te", "out_te_a.npy", ""},
		{"out", "out_te", "out_a.npy", "a.npy"},
		{"out_te", "out", "out_te_a.npy", "a.npy"},
		{"out_te", "out", "out_a.npy", ""},
		{"npu", "ref", "npu_Add.a.1.2.1600000000000000", "Add.a.1.2.1600000000000000"},
	} {
		got, ok := Stem{test.own, test.other}.Cut(test.name)
		if !ok {
			got = ""
		}
		if got != test.want {
			t.Errorf("%q of %q, %q: %q, want %q", test.name, test.own, test.other, got, test.want)
		}
	}
}

func TestSplitStems(t *testing.T) {
	for names, want := range map[string]string{
		"":                    "",
		"a.npy":               "",
		"ref_a.npy npu_a.npy": "npu_|ref_",
		"a.ref.npy b.ref.npy a.npu.bin b.npu.bin":         "a.|b. .npu|.ref",
		"a_npu a_b_npu a_ref a_b_ref":                     "a_b_|a_ _npu|_ref",
		"o_0_0 o_0_1 k_0_0 k_0_1 o_0_31 k_0_31":           "k_|o_",
		"gpu_l_1 gpu_l_2 gpu_l_3 npu_l_1 npu_l_2 npu_l_3": "gpu_|npu_",
		"a_x a_y b_x b_y":                                 "a_|b_ _x|_y",
		"a_1 a_2 b_1 b_2 c_1 c_2":                         "_1|_2",
		"a_x a_y b_x b_z":                                 "",
		"a_x a_y b_x":                                     "",
		"a_x a_y b_x b_y c_x c_y d_x e_y":                 "",
		"ax ay bx by":                                     "",
		"é_x é_y é_z ü_x ü_y ü_z":                         "é_|ü_",
	} {
		var got []string
		for _, s := range SplitStems(strings.Fields(names), 2) {
			got = append(got, strings.Join(s, "|"))
		}
		if diff := gocmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: %s", names, diff)
		}
	}
	got := SplitStems(strings.Fields("ref_a npu2_b npu_a npu_b npu2_a ref_b"), 3)
	if diff := gocmp.Diff([][]string{{"npu2_", "npu_", "ref_"}}, got); diff != "" {
		t.Error(diff)
	}
}
