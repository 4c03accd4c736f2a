// Command quantity-oracle records what Kubernetes says about quantities and what Go says about durations, so that
// poolgate can be compared with them without running Go. The texts come from a fixed seed: two runs write the same
// files.
//
//	go run . ../quantity-oracle.jsonl ../duration-oracle.jsonl
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"math/big"
	"math/rand"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// pattern is the one of Karpenter's CRD for the values of limits.
var pattern = regexp.MustCompile(`^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`)

// exponent finds what ParseQuantity may read as a decimal exponent.
var exponent = regexp.MustCompile(`[eE][+-]?0*([0-9]+)$`)

// largestExponent keeps the program from hanging, as ParseQuantity does on exponents beyond it, and the file short.
const largestExponent = 300

type quantityVerdict struct {
	Text string `json:"text"`
	// CRD says whether the pattern accepts it.
	CRD bool `json:"crd"`
	// Nano is the value in units of 10^-9; absent where ParseQuantity refuses the text.
	Nano *string `json:"nano,omitempty"`
}

type durationVerdict struct {
	Text string `json:"text"`
	// Nanos is the length in nanoseconds; absent where ParseDuration refuses the text.
	Nanos *int64 `json:"nanos,omitempty"`
}

func nano(text string) *string {
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return nil
	}
	dec := quantity.AsDec()
	value := new(big.Int).Set(dec.UnscaledBig())
	shift := 9 - int64(dec.Scale())
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(max(shift, -shift)), nil)
	if shift >= 0 {
		value.Mul(value, power)
	} else if _, rest := value.QuoRem(value, power, new(big.Int)); rest.Sign() != 0 {
		log.Fatalf("%q is finer than a nano", text)
	}
	written := value.String()
	return &written
}

func bearable(text string) bool {
	found := exponent.FindStringSubmatch(text)
	if found == nil {
		return true
	}
	size, err := strconv.Atoi(found[1])
	return err == nil && size <= largestExponent
}

func pick(random *rand.Rand, from []string) string {
	return from[random.Intn(len(from))]
}

func digits(random *rand.Rand, most int) string {
	var text strings.Builder
	for range random.Intn(most + 1) {
		text.WriteByte("0000123456789"[random.Intn(13)])
	}
	return text.String()
}

var (
	signs    = []string{"", "", "", "", "-", "+", "--"}
	points   = []string{"", "", "", ".", ".", ".."}
	suffixes = []string{
		"", "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Ki", "Mi", "Gi",
		"K", "ki", "gi", "GB", "Gib", "i", "B", "e", "E+", " Gi", "mm", "%", "ei", "_", "x",
	}
	units = []string{"ns", "us", "µs", "μs", "ms", "s", "m", "h", "h", "m", "s", "d", "H", "", " m", "hr"}
	fixed = []string{
		"", "0", "-0", "+0", ".", "+", "-", "Ki", "e3", "-Pi", "1.", ".5", "1.Gi", "+1", "1E", "1e3", "1E3", "1e+",
		"1i", "1m3", "0.5n", "0.1n", "1.0000000001", "-1.0000000001", "9Ei", "16Ei", "-16Ei", "7.9999Ei", "8Ei",
		"1e30", "1e1.5", "1e.5", "1e5.", "1e-9", "1e-10", "5e-10", "0e300", "1e300", "-1e-300", "1K", "1ki", "1GB",
		"1Gib", "1 Gi", " 1", "1 ", "1\n", "0x10", "1_000", "10%", "1000gi", "9223372036854775807",
		"9223372036854775808", "-9223372036854775808", "18446744073709551616", "1024Ki", "1Mi", "1024Mi", "1.5Gi",
		"0.1Ki", "0.0001Ki", "0.00000000001Ki", "100m", "0.1", "1n", "1u", "1e0003", "00012", "1e+3", "1E-3", "１",
		"1Е", "NaN", "inf", "1e3k", "1,5", "1.5.5", "1Ee3", "1EE", "1Eei",
	}
)

func quantities(random *rand.Rand, count int) []string {
	texts := fixed
	for len(texts) < count {
		number := digits(random, 4)
		if random.Intn(8) == 0 {
			number = digits(random, 24)
		}
		text := pick(random, signs) + number + pick(random, points) + digits(random, 1+random.Intn(12))
		if random.Intn(4) == 0 {
			text += pick(random, []string{"e", "E"}) + pick(random, signs) + digits(random, 2) + pick(random, points)
		} else {
			text += pick(random, suffixes)
		}
		texts = append(texts, text)
	}
	return texts
}

func durations(random *rand.Rand, count int) []string {
	texts := []string{
		"", "0", "+0", "-0", "00", "0s", ".", "-", "h", ".h", "1", "1h", "1.5h", ".5h", "1.h", "-1h", "1h30m", "30m1h",
		"9223372036854775807ns", "9223372036854775808ns", "-9223372036854775808ns", "-9223372036854775809ns",
		"2562047h47m16.854775807s", "2562047h47m16.854775808s", "-2562047h47m16.854775808s", "2562048h", "99999999h",
		"1.123456789012345678901234567890h", "0.9223372036854775807h", "0.3333333333333333333h", "1h 30m", "1d",
	}
	for len(texts) < count {
		text := pick(random, signs)
		for range 1 + random.Intn(3) {
			text += digits(random, 3) + pick(random, points)
			if random.Intn(4) == 0 {
				text += digits(random, 22)
			}
			text += digits(random, 3) + pick(random, units)
		}
		texts = append(texts, text)
	}
	return texts
}

func write[T any](path string, texts []string, verdict func(string) (T, bool)) {
	file, err := os.Create(path)
	if err != nil {
		log.Fatal(err)
	}
	lines := bufio.NewWriter(file)
	encoder := json.NewEncoder(lines)
	encoder.SetEscapeHTML(false)
	seen := map[string]bool{}
	for _, text := range texts {
		row, ok := verdict(text)
		if !ok || seen[text] {
			continue
		}
		seen[text] = true
		if err := encoder.Encode(row); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Flush(); err != nil {
		log.Fatal(err)
	}
	if err := file.Close(); err != nil {
		log.Fatal(err)
	}
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: quantity-oracle QUANTITIES DURATIONS")
	}
	random := rand.New(rand.NewSource(20261121))
	write(os.Args[1], quantities(random, 4000), func(text string) (quantityVerdict, bool) {
		if !bearable(text) {
			return quantityVerdict{}, false
		}
		return quantityVerdict{text, pattern.MatchString(text), nano(text)}, true
	})
	write(os.Args[2], durations(random, 2500), func(text string) (durationVerdict, bool) {
		length, err := time.ParseDuration(text)
		if err != nil {
			return durationVerdict{Text: text}, true
		}
		nanos := length.Nanoseconds()
		return durationVerdict{text, &nanos}, true
	})
}
