package record

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

var update = flag.Bool("update", false, "write docs/json-compare.md")

// meanings explains the keys of compare.json. If several objects have a key, the meaning is the key of the first.
var meanings = map[string]string{
	"schema": "The schema of the document.", "tool": "The program and its version.", "args": "The arguments that it was given.",
	"profile": "The set of limits.", "nan_policy": "What counts of NaN and infinities.", "tol_mode": "The rule of an error element.",
	"order_source": "Where the order of the operators comes from.", "graph_source": "Who says which operator feeds which.",
	"summary":  "The result at a glance. It follows from the rows.",
	"findings": "Where the run went wrong, as indexes of rows.", "rounds": "The rounds, where there are several.",
	"rounds_listed": "The rounds of both sides, for a merge.", "coverage": "What was not compared; in the summary the share of the reference that was.",
	"baseline": "The comparison with a baseline, null without one.", "warnings": "What to know before the result is believed.",
	"interrupted": "Whether the run was interrupted.", "failed_fast": "Whether it ended with its first failure.", "files": "The reports that were written beside.",
	"unfetched": "How many tensors object storage left without an answer: the same run again may have them.",
	"left_out":  "How many rows were left out of the document.", "shard": "Which part of the work this is.", "listing": "A sum of the names of all files, by which shards know each other.",
	"options": "The options of the run.", "argv": "The command line of the shard, without the name of the program, from which a merge takes where reports go.", "run_id": "The run that shards belong to.", "zh": "The sentences of the document in Chinese, by those in English.", "slim": "Of documents of `dumptool/compare/1`: whether rows lack keys; such a document is not read.", "ranks": "What the ranks of the NPU's run say of each other, as in check.json, where they are sharded otherwise than the reference.", "rows": "A row for each output; in counts and summary their number.",

	"verdict_mode": "What fails: evidence, limits, statistics or a standard.", "verdict_why": "Why it is that.", "headline": "The verdict in one line.",
	"standard": "The acceptance standard of single operators; of a row what it says.", "effective_type": "The type that the run computes with.",
	"origins": "The rows where errors begin.", "inputs": "Whether inputs and weights were the same; of a row the rows that its operator reads.",
	"power": "How small a fault would have been seen.", "notes": "What changes how to read the result.", "operators": "How many operators have a partner.",
	"started_alike": "Whether the runs started alike, of statistics.", "start": "Where they did not.", "no_verdict": "Why there is none.",
	"proof":      "Whether what was compared could have shown a fault; null where that is not known.",
	"no_numbers": "Tensors that were compared and are empty, or NaN everywhere on both sides.",
	"reference":  "Tensors of the reference.", "compared": "Those of them that were compared.", "first_bad": "The first row that failed.",
	"first_damaged": "The first with a damage.", "last_good": "The last that passed before.", "suspects": "Rows that are looked at next.",
	"first_nan": "The first with NaN on the NPU alone.", "first_overflow": "The first that left the range of its type.",
	"largest_jump": "The row with the largest growth of the error.", "jump": "That growth.", "outputs_bad": "Whether outputs of the network are bad.",
	"worst": "The rows, and of a row the elements, with the largest errors.", "chain": "The rows from the first bad one to the outputs.",
	"ref_only": "Tensors of the reference alone.", "npu_only": "Tensors of the NPU alone.", "skipped": "Those that were left out by request.",
	"unread": "Those that could not be read.", "superseded": "Those of which a later execution counts.", "unused_op_config": "Lines of --op-config for no operator.",

	"round": "The name of the round.", "rank": "Its rank.", "step": "Its step.", "graph": "Its graph or model id.", "model": "Its network.",
	"ref": "The coordinates of the reference, where they are others.", "order_known": "Whether the execution order is known.",
	"status": "PASS, WARN, FAIL, ...: see the help of compare.", "counts": "The rows by status.", "pairing": "How the tensors were paired.", "unfit": "Whether the data flow does not fit the data and was not used.",

	"op": "The operator, as the reference names it.", "output": "The index of the tensor.", "reasons": "Why the row has its status: code, confidence, evidence and facts.",
	"ref_file": "The file of the reference, null without one.", "npu_file": "The file of the NPU.", "shape": "The shape that was compared.",
	"dtype_ref": "The element type of the reference.", "dtype_npu": "The element type of the NPU.", "limits": "atol, rtol and where they come from.",
	"total": "Elements that were compared.", "errors": "Error elements, as HPAA counts them.", "errors_strict": "Error elements, and those of another class.",
	"error_ratio": "errors beside total.", "first_error": "The first of errors.", "ref_value": "The element of the reference there.", "npu_value": "The element of the NPU there.",
	"metrics": "The numbers below.", "classes": "Pairs of elements by what they are: finite, NaN, infinite.", "order": "The place in the execution order.",
	"op_type": "The type of the operator.", "npu_op": "Its name on the NPU, where it is another one.", "near": "Of a call without a partner, the name without one of the other side that is most like it.", "kind": "output, input, parameter or gradient.",
	"script": "The line of the script that called it, FILE:LINE.", "modules": "The modules around the call.", "statistics": "What is known of tensors without elements.",
	"rule": "The rule that made the pair.", "paired_by": "Where names differ: the rule that paired them all the same; in coverage how many tensors each rule paired.", "partial": "Whether only a part was compared.", "forced": "Whether the shapes differ.", "known": "Whether the baseline has the failure.",
	"error": "Why the status is ERROR.", "ref_shape": "The shape of the reference.", "npu_shape": "The shape of the NPU.", "nan_inf": "Whether a side has NaN or infinities.",
	"errors_policy": "Error elements by the NaN policy, by which the status goes.", "first_error_policy": "The first of them.", "first_error_strict": "The first of errors_strict.",
	"last_error_strict": "The last of errors_strict.", "cosine_zero": "Whether the cosine is a convention: one side is zero, or both.", "digests": "CRC-32C of both sides, and sums of any order.",
	"status_limits": "The status by the limits alone.", "type": "The type that the numbers of a float32 tensor are of.",
	"origin": "Whether the error begins here.", "downstream": "Whether it came in by the inputs.", "self": "What the output is by itself, computed again from the inputs of its operator, null where it was not: ok, low, wrong, misfit or undecided, and why.",
	"evidence": "The error beside what rounding and the inputs explain.",
	"axes":     "The errors along each axis.", "module": "The full name with the modules around.", "abs_hist": "A histogram of |d|.", "rel_hist": "A histogram of |d|/|r|, of more than 131,072 elements that of a sample of so many.",
	"pictures": "What plots of the row show.", "noise": "What the verdict is made of.", "reasons_limits": "The reasons of the limits alone, where they are others.",
	"patterns": "Known ways in which a tensor is bad.", "uneven": "The axis along which errors are uneven.", "second": "The error of a second reference.",
	"reads": "Inputs that were read to find out who made them.", "dtype_said": "The type that a file beside says.", "undiagnosed": "Why the cause could not be looked for.",
	"argument":  "The first argument of the call that is no tensor and differs: its keyword or position, and its value on both sides.",
	"common":    "The part of an axis that was compared, where its lengths differ or rows were matched: the axis, both lengths, the number of matched rows, whether the last positions were compared or the first, and whether the lengths may differ here, so that the common part decides the status.",
	"masked":    "The error of an origin without the positions that a mask of its operator excludes: the row of the mask, how many positions it has and excludes, the root mean square of the differences and of the reference at the others.",
	"tokens":    "Log probabilities of tokens, at the positions that a mask counts: the tensor with the mask; how many tokens count, are not finite, differ by more than a factor of 2; the mean of |d|, the estimates k1 and k3 of the KL divergence of the reference from the NPU, the largest ratio and its token; the first tensor beyond its limits in the row of this token; the same numbers by sequence and by position, where an entry stands for as many as the fold says; a map of |d|.",
	"part":      "The part of the reference that the tensor is compared with, where it is not all of it: runs of positions an axis, each the first (-1: not found, -2: padding) and how many; how sure, and whether it is a part, a sum of ranks or a copy.",
	"transport": "Whether it was object storage that did not answer: compared again the row may be another one.",
	"details":   "What a merge needs of a row; only in documents of shards.",
}

// TestKeys compares docs/json-compare.md with the types of the document; -update writes it.
func TestKeys(t *testing.T) {
	var b strings.Builder
	b.WriteString("# compare.json\n\nThe keys of `" + Schema + "`, which `dumptool compare --format json` and `compare judge` write. A key with a question mark is left out\n" +
		"where there is nothing to say. Keys are only added while the number of the schema stays. The other documents are in [json-documents.md](json-documents.md).\n" +
		"Keys whose value is 0, false or empty are written: `jq '.rows[].errors'` prints a number for every row that was compared and null for\n" +
		"the others. Parts of a run (shards, interrupted runs) also have `details` in each row.\n" +
		"`report`, `judge` and `merge` read documents of `" + EarlierSchema + "` too. Two keys of that schema are gone: `joint` of a row (elements by octaves of |r|\n" +
		"and |d|), and `slim`. Where `slim` is true the rows lack keys, and the document is refused: run the comparison again.\n" +
		"This file is made of the Go types: `go test ./internal/compare/record -run TestKeys -update`.\n")
	unused := maps.Clone(meanings)
	table := func(title string, of any) {
		fmt.Fprintf(&b, "\n## %s\n\n| key | value | meaning |\n|---|---|---|\n", title)
		for _, f := range fieldsOf(reflect.TypeOf(of)) {
			key := keyOf(f)
			_, rule, _ := strings.Cut(f.Tag.Get("json"), ",")
			shown, meaning, value := key, meanings[key], form(f.Type)
			delete(unused, key)
			if _, is := reflect.TypeFor[counts]().FieldByName(f.Name); is && title == "summary" && key != "rows" {
				meaning = "Rows of this status."
			}
			if meaning == "" {
				t.Errorf("key %s of %s says nothing", key, title)
			}
			if rule != "" { // omitempty, omitzero
				shown += "?"
			}
			if rule != "" || leadsIntoReport[key] {
				value = strings.TrimSuffix(value, " or null")
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", shown, value, strings.ReplaceAll(meaning, "|", `\|`))
		}
	}
	table("The document", struct {
		document
		Rows []rowJSON `json:"rows"`
	}{})
	table("summary", summary{})
	table("findings", findingsJSON{})
	table("coverage", Coverage{})
	table("A round", roundJSON{})
	table("A row", rowJSON{})
	b.WriteString("\n## metrics\n\nn and r are the elements of the NPU and of the reference at one place, d = n - r. Null where it is not defined.\n\n" +
		"| key | unit | formula |\n|---|---|---|\n")
	for i := range metrics.Table {
		m := &metrics.Table[i]
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", m.Name, m.Unit, strings.ReplaceAll(m.Formula, "|", `\|`))
	}
	for key := range unused {
		t.Errorf("no object has the key %s", key)
	}
	const file = "../../../docs/json-compare.md"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("docs/json-compare.md differs from the types (-update writes it):\n%s", diff)
	}
}

// keyOf returns the key of a field, empty for none.
func keyOf(f reflect.StructField) string {
	key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return strings.TrimPrefix(key, "-")
}

// fieldsOf returns the fields of a struct that JSON has, also of embedded structs. A field replaces an embedded field
// with the same key.
func fieldsOf(t reflect.Type) (fields []reflect.StructField) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	own := map[string]bool{}
	for f := range t.Fields() {
		own[keyOf(f)] = true
	}
	for f := range t.Fields() {
		if keyOf(f) != "" {
			fields = append(fields, f)
		} else if f.Anonymous {
			fields = append(fields, slices.DeleteFunc(fieldsOf(f.Type), func(x reflect.StructField) bool { return own[keyOf(x)] })...)
		}
	}
	return fields
}

// leadsIntoReport has the keys whose pointers lead to a field of the report, and are never nil.
var leadsIntoReport = map[string]bool{"tool": true, "interrupted": true, "verdict_mode": true, "verdict_why": true, "headline": true, "reference": true, "compared": true, "outputs_bad": true}

// form describes the JSON form of a type.
func form(t reflect.Type) string {
	null := ""
	if t.Kind() == reflect.Pointer {
		t, null = t.Elem(), " or null"
	}
	switch t {
	case reflect.TypeFor[nullableText]():
		return "text or null"
	case reflect.TypeFor[rowIndex](), reflect.TypeFor[metrics.Metric](), reflect.TypeFor[metrics.Value]():
		return "number or null"
	case reflect.TypeFor[lang.Sentence]():
		return "text" + null
	case reflect.TypeFor[tensor.Shape]():
		return "list or null"
	case reflect.TypeFor[json.RawMessage](), reflect.TypeFor[jsonMembers]():
		return "object"
	}
	switch t.Kind() {
	case reflect.String:
		return "text" + null
	case reflect.Bool:
		return "true or false" + null
	case reflect.Slice, reflect.Array:
		return "list" + null
	case reflect.Struct, reflect.Map:
		return "object" + null
	}
	return "number" + null
}
