resource "kubernetes_manifest" "a" {
  manifest = {
    apiVersion = "karpenter.sh/v1"
  }
}
