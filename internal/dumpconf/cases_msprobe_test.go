package dumpconf

import "strings"

// msprobe is a config.json of msprobe with more keys.
func msprobe(keys ...string) string {
	defaults := []string{`"task":"statistics"`, `"level":"L1"`, `"dump_path":"/d"`}
	replaced := strings.ReplaceAll(strings.Join(keys, ","), mark, "")
	for _, d := range defaults {
		if name, _, _ := strings.Cut(d, ":"); !strings.Contains(replaced, name) {
			keys = append(keys, d)
		}
	}
	return "{" + strings.Join(keys, ",") + "}"
}

func msprobeCases() []ruleCase {
	eight := Options{WorldSize: 8}
	return []ruleCase{
		{rule: "MP001", text: msprobe(`"task":§"statistic"`), message: `did you mean "statistics"?`},
		{rule: "MP001", text: msprobe(`"task":§"Tensor"`), message: `write "tensor" exactly so`},
		{rule: "MP001", text: msprobe(`"task":§7`), message: "must be a string"},
		{rule: "MP001", text: msprobe(`"task":"free_benchmark"`)},
		{rule: "MP001", text: acl(`"dump_debug":"on"`)},
		{rule: "MP002", text: msprobe(`"level":§"L3"`), message: "allowed are"},
		{rule: "MP002", text: msprobe(`"level":§1`)},
		{rule: "MP002", text: msprobe(`"level":"mix"`)},
		{rule: "MP003", text: msprobe(`"rank":[0,§8,"3-7",§"7-8"]`), opt: eight, message: "there is no rank 8 among 8 ranks"},
		{rule: "MP003", text: msprobe(`"rank":[0,8]`)},
		{rule: "MP003", text: msprobe(`"rank":[],"step":[100]`), opt: eight},
		{rule: "MP003", text: msprobe(`"rank":["x",-1]`), opt: eight},
		{rule: "MP004", text: msprobe(`"step":[0,"3-5",§"7",§"5-3",§"a-b",§-1,§1.5,§true,§[1],§"1-2-3",§99999999999999999999]`), message: `must be a list of numbers and of ranges such as [0, "3-5"], found "7"`},
		{rule: "MP004", text: msprobe(`"rank":§"0-7"`), message: "rank must be a list"},
		{rule: "MP004", text: msprobe(`"rank":§3`)},
		{rule: "MP004", text: msprobe(`"rank":[],"step":[18446744073709551615,"0-0"]`)},
		{rule: "MP005", text: msprobe(`"statistics":{"list":["conv"],§"scope":["a","b"]}`), message: "only one of them counts"},
		{rule: "MP005", text: msprobe(`"tensor":{"scope":["a","b"],"list":[]}`)},
		{rule: "MP005", text: msprobe(`"tensor":{"scope":"a","list":"b"}`)},
		{rule: "MP005", text: msprobe(`"statistics":{"list":["conv"]},"tensor":{"scope":["a"]}`)},
		{rule: "MP006", text: `§{"task":"statistics","level":"L1"}`, message: "dump_path is missing"},
		{rule: "MP006", text: msprobe(`"dump_path":§""`), message: "dump_path is missing"},
		{rule: "MP006", text: msprobe(`"dump_path":§"./out"`), message: "is relative"},
		{rule: "MP006", text: msprobe(`"dump_path":§3`), message: "must be a string"},
		{rule: "MP006", text: msprobe(`"dump_path":"/data/dump"`)},
		{rule: "MP007", text: msprobe(`§"ranks":[]`), message: `does not know the key "ranks"; did you mean "rank"?`},
		{rule: "MP007", text: msprobe(`"statistics":{§"data_modes":["all"],"scope":[]},§"zzzzz":1`), message: `"data_mode"`},
		{rule: "MP007", text: msprobe(`"rank":[],"step":[],"statistics":{"scope":[],"list":[],"data_mode":["all"],"summary_mode":"md5"}`)},
		{rule: "ACL001", text: msprobe() + "§x", message: "not valid JSON"},
		{rule: "ACL008", text: msprobe(`"rank":[],§"rank":[1]`), message: "is given twice"},
	}
}
