// Package shard divides work among processes that know nothing of each other, and says
// which of the documents that they write belong together.
//
// A process is told that it is shard i of n. Which pieces of work are its own follows
// from a balance of their sizes, so that all processes agree without a word. What it
// writes is an ordinary document of its command, which also says where it comes from.
package shard

import (
	"fmt"
	"strconv"
	"strings"

	"dumptool/internal/lang"
)

// MaxShards bounds the number of shards.
const MaxShards = 1 << 20

// Spec says which of how many shards a process is. The zero Spec is a process that does
// all of the work.
type Spec struct {
	// Index is 0 to Of-1.
	Index int `json:"index"`
	Of    int `json:"of"`
}

// On reports whether the process does a part of the work only.
func (s Spec) On() bool { return s.Of > 0 }

// String is the spelling of the command line: 2/4.
func (s Spec) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// Folder is the name of the folder of what the shard writes: shard-00002-of-00004; empty for
// all of the work.
func (s Spec) Folder() string {
	if !s.On() {
		return ""
	}
	return fmt.Sprintf("shard-%05d-of-%05d", s.Index, s.Of)
}

// Variables are those in which schedulers tell each process of an array its number,
// from 0: Slurm, Kubernetes, Volcano (two spellings), AWS Batch, PBS.
var Variables = []string{
	"SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX", "VC_TASK_INDEX", "VK_TASK_INDEX", "AWS_BATCH_JOB_ARRAY_INDEX", "PBS_ARRAY_INDEX",
}

// auto asks for the index that a scheduler says.
const auto = "auto"

// Parse reads the value of --shard: 2/4, or auto/4, where the index is that of the first
// of Variables that is set. The number of shards is always given: a scheduler that runs
// one task of an array again says that it has one. An empty text asks for all of the
// work; when a scheduler has set a variable nevertheless, a note says so.
func Parse(text string, getenv func(name string) string) (Spec, []lang.Sentence, error) {
	if text == "" {
		if name, value, _ := scheduled(getenv); name != "" {
			return Spec{}, []lang.Sentence{lang.Sayf("%s is %s; without --shard all of the work is done here",
				"%s 为 %s；未给出 --shard，全部工作在此完成", name, value)}, nil
		}
		return Spec{}, nil, nil
	}
	index, of, ok := strings.Cut(text, "/")
	n, err := strconv.ParseUint(of, 10, 31)
	if !ok || err != nil || n < 1 {
		return Spec{}, nil, lang.Errorf("--shard %s: want INDEX/COUNT, such as 0/4, or auto/4", text)
	}
	if n > MaxShards {
		return Spec{}, nil, lang.Errorf("--shard %s: there are at most %d shards", text, MaxShards)
	}
	from := ""
	if index == auto {
		var other string
		if from, index, other = scheduled(getenv); other != "" {
			return Spec{}, nil, lang.Errorf("--shard %s: %s is %s and %s is %s: give the number", text, from, index, other, getenv(other))
		}
		if from == "" {
			return Spec{}, nil, lang.Errorf("--shard %s: none of %s is set: give the number", text, strings.Join(Variables, ", "))
		}
		from += " is " + index + ", "
	}
	i, err := strconv.ParseUint(index, 10, 31)
	switch {
	case err != nil && from != "":
		return Spec{}, nil, lang.Errorf("--shard %s: %swant a number from 0", text, from)
	case err != nil:
		return Spec{}, nil, lang.Errorf("--shard %s: want INDEX/COUNT, such as 0/4, or auto/4", text)
	case i >= n:
		return Spec{}, nil, lang.Errorf("--shard %s: %sshards are 0/%d to %d/%d", text, from, n, n-1, n)
	}
	return Spec{Index: int(i), Of: int(n)}, nil, nil
}

// scheduled returns the first variable that is set and its value, and the first one
// that has another value.
func scheduled(getenv func(string) string) (name, value, other string) {
	for _, v := range Variables {
		switch now := getenv(v); {
		case now == "" || now == value:
		case name == "":
			name, value = v, now
		default:
			return name, value, v
		}
	}
	return name, value, ""
}

// Ranges lists numbers in rising order with runs put together, as schedulers take them:
// 3,17,40-42.
func Ranges(numbers []int) string {
	return strings.ReplaceAll(inWords(numbers), " ", "")
}

// inWords is Ranges for people: 3, 17, 40-42.
func inWords(numbers []int) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.Itoa(n)
	}
	return lang.Ranges(texts)
}
