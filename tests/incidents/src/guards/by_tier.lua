-- The cache's key is the URL, so the tier goes into it: one copy for each query and pricing tier.
function envoy_on_request(handle)
  local headers = handle:headers()
  headers:replace(":path", headers:get(":path") .. "&tier=" .. headers:get("x-tier"))
end
